// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_drainOfMachines has the facts of k8s.io/kubectl v0.37.2 pkg/drain about pods that have
// terminated for longer than SkipWaitForDeleteTimeoutSeconds, which OpenShift sets to 1 where a node cannot be
// reached (openshift/machine-api-operator pkg/controller/machine/drain_controller.go): the drain does not wait
// for them. On other nodes it waits for each.
func TestUpstream_drainOfMachines(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	rows.Run(t, "a pod that terminates on an unreachable node", func(t *testing.T) {
		t.Parallel()
		unreachable := corev1.Taint{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute}
		for name, tt := range map[string]struct {
			taints      []corev1.Taint
			terminating bool
			held        int
		}{
			"on a node that cannot be reached":        {[]corev1.Taint{unreachable}, true, 0},
			"on one that can":                         {nil, true, 1},
			"on one whose taint is another one":       {[]corev1.Taint{{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute}}, true, 1},
			"not terminating, on a node out of reach": {[]corev1.Taint{unreachable}, false, 1},
		} {
			s := &snapshot.Snapshot{
				Nodes: map[string]*snapshot.Node{"n": {Name: "n", Taints: tt.taints}},
				Pods:  map[string][]*snapshot.Pod{"n": {{Namespace: "shop", Name: "web", Node: "n", Terminating: tt.terminating}}},
			}
			if got := Holds(Observed{Machines: []*Machine{{Name: "m", Node: "n", Deleting: true}}}, s, nil); len(got) != tt.held {
				t.Errorf("%s: the drain waits for %q", name, got)
			}
		}
	})
}
