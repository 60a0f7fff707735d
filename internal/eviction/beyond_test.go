// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A completed pod is gone already, and a pod of another namespace has other PodDisruptionBudgets.
func TestEvaluate_podsBeyondAPodDisruptionBudget(t *testing.T) {
	t.Parallel()
	taints, drain := tainting("n1", "a:NoExecute"), draining("n1")
	undrained := draining("n1")
	undrained.Undrained = map[string]bool{"n1": true}
	deleting, selected := draining("n1"), draining("n1")
	deleting.Deletes, selected.Selects = true, func(p *snapshot.Pod) bool { return p.Name == "p0" || p.Namespace != "app" }
	for name, tt := range map[string]struct {
		change  Scenario
		allowed int32
		want    *Beyond
	}{
		"it allows all evictions":                   {taints, 2, nil},
		"it allows one eviction fewer":              {taints, 1, &Beyond{Name: "pdb", Allowed: 1}},
		"it allows none":                            {taints, 0, &Beyond{Name: "pdb"}},
		"it allows all pods that are drained":       {drain, 2, nil},
		"it allows one drained pod fewer":           {drain, 1, &Beyond{Name: "pdb", Allowed: 1, Obeyed: true}},
		"it is not asked where nodes are undrained": {undrained, 1, &Beyond{Name: "pdb", Allowed: 1}},
		"it is not asked where pods are deleted":    {deleting, 1, &Beyond{Name: "pdb", Allowed: 1}},
		"it allows all deletions":                   {deleting, 2, nil},
		"pods that are not selected do not count":   {selected, 1, nil},
	} {
		elsewhere := pod("e0", "n1")
		elsewhere.Namespace = "elsewhere"
		w := newWorld(node("n1"), node("n2")).run(pod("p0", "n1"), pod("p1", "n1"), pod("p2", "n1", completed), pod("p3", "n2"), elsewhere).budget("app", "pdb", "app=web", tt.allowed)
		for _, v := range Evaluate(w.Snapshot, tt.change, ComparisonOff).Pods {
			want := tt.want
			if v.Pod.Completed || v.Pod.Namespace != "app" {
				want = nil
			}
			if diff := cmp.Diff(want, v.Beyond); diff != "" {
				t.Errorf("%s: %s: %s", name, v.Pod.Name, diff)
			}
		}
	}
}
