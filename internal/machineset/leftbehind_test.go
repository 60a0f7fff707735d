// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestLeftBehind: what a resource must remember, since nothing in the cluster tells that it
// was its own.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	const id = "team:NoSchedule"
	for name, tt := range map[string]struct {
		template, machine, node string
		marked, deleting        bool
		want                    string
	}{
		"what a machine still has":                {machine: "team=a:NoSchedule", want: id},
		"what its node alone still has":           {node: "team=a:NoSchedule", want: id},
		"not what the template has again":         {template: "team=b:NoSchedule", machine: "team=a:NoSchedule"},
		"not what no machine has":                 {machine: "other:NoSchedule", node: "other:NoSchedule"},
		"not what is marked on a node":            {node: "team=a:NoSchedule", marked: true},
		"not what goes with a machine":            {machine: "team=a:NoSchedule", node: "team=a:NoSchedule", deleting: true},
		"not an entry that was not among ours":    {machine: "spot:NoSchedule"},
		"not another effect of the same key":      {machine: "team=a:NoExecute"},
		"whatever others have put on the machine": {machine: "vendor=x:NoSchedule team=a:NoSchedule", node: "vendor=x:NoSchedule", want: id},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			var record taint.Record
			if tt.marked {
				record = taint.Record{{Key: "team", Effect: "NoSchedule", Owner: "terraform/x"}}
			}
			o := Observed{
				Set:      &Set{UID: "u", Taints: taintsOf(t, tt.template)},
				Machines: []*Machine{{Name: "m", Node: "n", Taints: taintsOf(t, tt.machine), Deleting: tt.deleting}},
				Nodes:    map[string]*eviction.Node{"n": {Name: "n", Taints: taintsOf(t, tt.node), Record: record}},
			}
			d := desire(t, InPlace, "crew=a:NoSchedule")
			d.LeftBehind = map[types.UID][]taint.ID{"u": {{Key: "team", Effect: "NoSchedule"}}, "another": {{Key: "spot", Effect: "NoSchedule"}}}
			d = d.Of(o.Set, Target{})
			var got []string
			for _, one := range LeftBehind(o, d) {
				got = append(got, one.String())
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("left behind are %v, want %q", got, tt.want)
			}
			if reached := len(Plan(o, d).Stale) > 0; tt.want != "" && !reached {
				t.Error("no rollout would reach the machine")
			}
			template := d.Merge(o.Set)
			o.Machines[0].Taints = template.Apply(o.Machines[0].Taints)
			o.Nodes["n"].Taints = template.of(o.Nodes["n"]).Apply(o.Nodes["n"].Taints)
			if left := LeftBehind(o, d); len(left) > 0 {
				t.Errorf("left behind after a rollout are still %v", left)
			}
		})
	}
}
