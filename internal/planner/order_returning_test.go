// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestOrder_keepsTolerationsThatRecreatedPodsNeed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		// pod is on a node, waits for one, or is missing.
		there, waits bool
		selector     map[string]string
		kept         bool
	}{
		{name: "a pod on the node", there: true, kept: true},
		{name: "a pod that waits for a node", there: true, waits: true, kept: true},
		{name: "a pod that waits for another node", there: true, waits: true, selector: map[string]string{"pool": "cpu"}},
		{name: "a pod that is missing", kept: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := aWorkload(t, "StatefulSet", "web", "*x=1:NoExecute")
			node := "a"
			if tt.waits {
				node = ""
			}
			p := aPod(t, web, "a1", node)
			p.Scheduling.NodeSelector = tt.selector
			p.Terminating = !tt.there
			snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute"), aNode(t, "b", "cpu")}, p)
			plan := Order(snapshot, Change{Workloads: []Tolerations{tolerate(t, web, "x=2:NoExecute")}}, eviction.ComparisonOff)
			if kept := toleration.Contains(plan.Steps[0].Merged.Tolerations, tol(t, "x=1:NoExecute")); kept != tt.kept {
				t.Errorf("kept %t, want %t: %s", kept, tt.kept, writeSteps(plan))
			}
		})
	}
}

func TestOrder_keepsTolerationsThatUnknownPodsMayNeed(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{"*x=1:NoExecute": true, "*y=1:NoExecute": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			operated := aWorkload(t, "Deployment", "operated", "*x=1:NoExecute")
			operated.Pods = nil
			snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", name), aNode(t, "b", "cpu")})
			plan := Order(snapshot, Change{Workloads: []Tolerations{tolerate(t, operated, "x=2:NoExecute")}}, eviction.ComparisonOff)
			if got := toleration.Contains(plan.Steps[0].Merged.Tolerations, tol(t, "x=1:NoExecute")); got != kept {
				t.Errorf("with %s on a node, kept is %t, want %t: %s", name, got, kept, writeSteps(plan))
			}
		})
	}
}

// Between its runs a CronJob has no pod, and the next one is to find its node.
func TestOrder_keepsWhatTheNextRunOfACronJobNeeds(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		selector map[string]string
		running  bool
		kept     bool
	}{
		{name: "its template may find any node", kept: true},
		{name: "its template finds the tainted node", selector: map[string]string{"pool": "gpu"}, kept: true},
		{name: "its template finds other nodes", selector: map[string]string{"pool": "cpu"}},
		{name: "a run that goes on elsewhere does not tell of the next", running: true, kept: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			report := aWorkload(t, "CronJob", "report", "*x=1:NoExecute")
			report.Wants, report.NodeSelector = -1, tt.selector
			nodes := []*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute"), aNode(t, "b", "cpu")}
			snapshot := aSnapshot(nodes)
			if tt.running {
				snapshot = aSnapshot(nodes, aPod(t, report, "b1", "b"))
			}
			plan := Order(snapshot, Change{Nodes: []NodeTaints{desire(t, Target{Name: "a"}, "x=2:NoExecute")}, Workloads: []Tolerations{tolerate(t, report, "x=2:NoExecute")}}, eviction.ComparisonOff)
			want := []string{"expand report: x=2:NoExecute", "switch a: x=2:NoExecute"}
			if tt.kept {
				want = []string{"expand report: ~x=1:NoExecute, x=2:NoExecute", "switch a: x=2:NoExecute", "contract report: x=2:NoExecute"}
			}
			if diff := cmp.Diff(want, writeSteps(plan)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
