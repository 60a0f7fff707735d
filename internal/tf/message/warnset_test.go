// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestWarnSet_ofAnInterruptedRollout: a plan either names what apply stops at, or that it continues and
// what is left, machines that are being deleted included.
func TestWarnSet_ofAnInterruptedRollout(t *testing.T) {
	t.Parallel()
	const stops, continues = "Apply will stop before it changes", "Apply continues an interrupted rollout of"
	for name, tt := range map[string]struct {
		strategy machineset.Strategy
		replicas int
		phase    string
		// draining are the old machines that are being deleted.
		draining   int
		want, says string
	}{
		"as it was left":                          {machineset.Surge, 4, "Running", 0, continues, "3 machines are still to be changed"},
		"another client scaled it":                {machineset.Surge, 7, "Running", 0, stops, "7"},
		"another client scaled it from zero":      {machineset.ScaleToZero, 2, "Running", 0, stops, "2"},
		"a new machine has failed":                {machineset.Surge, 4, "Failed", 0, stops, "failed"},
		"three old ones are being deleted":        {machineset.Rolling, 4, "Running", 3, continues, "3 machines are still to be changed"},
		"three are, and another client scaled it": {machineset.Surge, 7, "Running", 3, stops, "7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, wanted := []corev1.Taint{{Key: "team", Value: "a", Effect: corev1.TaintEffectNoExecute}}, []corev1.Taint{{Key: "team", Value: "b", Effect: corev1.TaintEffectNoExecute}}
			o := machineset.Observed{Nodes: map[string]*snapshot.Node{}, Set: &machineset.Set{
				Namespace: machineset.OperatorNamespace, Name: "gpu", UID: "u", Replicas: tt.replicas, Observed: true, Reconciled: true, Taints: wanted,
				Record: taint.Record{{Key: "team", Effect: corev1.TaintEffectNoExecute, Owner: "terraform/gpu", Generation: "g1"}},
				Marker: &machineset.Marker{ID: "terraform/gpu", Strategy: tt.strategy, OriginalReplicas: 3, Surge: 1},
			}}
			for i := range 4 {
				m := &machineset.Machine{Namespace: machineset.OperatorNamespace, Name: fmt.Sprintf("m%d", i), Set: "u", Phase: "Running", Node: fmt.Sprintf("n%d", i), Taints: old, Deleting: i < tt.draining}
				if i == 3 {
					m.Phase, m.Taints = tt.phase, wanted
				}
				o.Machines = append(o.Machines, m)
				o.Nodes[m.Node] = &snapshot.Node{Name: m.Node, Ready: true, Taints: slices.Clone(m.Taints)}
			}
			d := machineset.Desired{
				Claim:   taint.Claim{Owner: "terraform/gpu", Generation: "g1", Taints: wanted},
				Rollout: machineset.Rollout{Strategy: tt.strategy, MaxUnavailable: 1, MaxSurge: 1},
			}
			var diags diag.Diagnostics
			WarnSet(o, d, machineset.Plan(o, d), &diags)
			var said []string
			for _, one := range diags {
				said = append(said, one.Summary()+": "+one.Detail())
			}
			all := strings.Join(said, "\n")
			not := map[string]string{stops: continues, continues: stops}[tt.want]
			if !strings.Contains(all, tt.want) || !strings.Contains(all, tt.says) || strings.Contains(all, not) {
				t.Errorf("want %q with %q, and nothing of %q: %s", tt.want, tt.says, not, all)
			}
		})
	}
}
