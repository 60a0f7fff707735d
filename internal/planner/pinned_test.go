// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestPins labels the node a, which has room for two pods, and pins the two pods of a workload to it, one of which is there.
func TestPins(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind    string
		pace    *workload.Pace
		wants   int64
		taints  []string
		later   bool
		pinned  bool
		volume  bool
		want    []string
		bound   int
		missing [2]int
	}{
		"all fit":                          {kind: "Deployment", pace: &workload.Pace{Surge: 1}, want: []string{"web 2 0 0 away 0"}},
		"a surge that finds no room":       {kind: "Deployment", pace: &workload.Pace{Surge: 2}, taints: []string{"full"}, want: []string{"web 2 2 2 away 0"}, missing: [2]int{2, 2}},
		"a surplus pod is not replaced":    {kind: "Deployment", pace: &workload.Pace{Surge: 1}, wants: 1, taints: []string{"full"}, want: []string{"web 1 0 1 away 0"}, missing: [2]int{0, 1}},
		"a pace that is not known":         {kind: "Deployment", taints: []string{"full"}, want: []string{"web 2 1 1 away 0"}, missing: [2]int{1, 1}},
		"a volume on the other node":       {kind: "StatefulSet", pace: &workload.Pace{Unavailable: 1}, volume: true, bound: 1, want: []string{"web 2 2 2 away 1"}, missing: [2]int{2, 2}},
		"pods that require the labels":     {kind: "Deployment", pinned: true},
		"pods of a DaemonSet":              {kind: "DaemonSet"},
		"pods that follow the next job":    {kind: "CronJob"},
		"a taint of now that is tolerated": {kind: "Deployment", pace: &workload.Pace{Surge: 1}, taints: []string{"x=1:NoSchedule"}, want: []string{"web 2 0 0 away 0"}},
		"a taint of now that is not":       {kind: "Deployment", pace: &workload.Pace{Surge: 1}, taints: []string{"y:NoSchedule"}, want: []string{"web 2 2 2 away 0"}, missing: [2]int{2, 2}},
		"a taint of the plan is not there": {kind: "Deployment", pace: &workload.Pace{Surge: 1}, later: true, want: []string{"web 2 0 0 away 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, tt.kind, "web")
			w.Rolling.Pace = tt.pace
			labels := map[string]string{"dedicated": "gpu"}
			full := len(tt.taints) > 0 && tt.taints[0] == "full"
			if full {
				tt.taints = nil
			}
			a, b := aNode(t, "a", "gpu", tt.taints...), aNode(t, "b", "cpu")
			a.Allocatable = &snapshot.Resources{MilliCPU: 3000, Pods: 10}
			if full {
				a.Allocatable.MilliCPU = 2000
			}
			asks := snapshot.Resources{MilliCPU: 1000}
			pods := []*snapshot.Pod{aPod(t, w, "web-0", "a"), aPod(t, w, "web-1", "b")}
			if tt.wants > 0 {
				w.Wants = tt.wants
			}
			for _, p := range pods {
				p.Ready, p.Demand = true, &snapshot.Demand{Asks: asks, Holds: asks}
			}
			if full {
				other := aPod(t, aWorkload(t, "Deployment", "other"), "other", "a")
				other.Demand = pods[0].Demand
				pods = append(pods, other)
			}
			seen := aSnapshot([]*snapshot.Node{a, b}, pods...)
			if tt.volume {
				b.Labels[corev1.LabelHostname] = b.Name
				pods[1].Claims = []string{"data"}
				seen.Volumes = map[string]map[string]*snapshot.Volume{"shop": {"data": {Name: "pv", Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
					MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{b.Name}}},
				}}}}}}
			}
			if tt.pinned {
				w.NodeSelector = labels
			}
			claim := label.Claim{Owner: "me", Generation: "g2", Labels: labels}
			change := Change{
				Labels:    []NodeLabels{{Target: pool(t, "gpu"), Claim: claim}},
				Nodes:     []NodeTaints{desire(t, pool(t, "gpu"), "x=1:NoSchedule")},
				Workloads: []Tolerations{{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Tolerations: tols(t, "x=1:NoSchedule")}, Pin: claim}},
			}
			plan := Order(seen, change, eviction.ComparisonOff)
			all, missing := plan.Pins()
			var got []string
			for _, p := range all {
				got = append(got, fmt.Sprintf("%s %d %d %d away %d", p.Workload.Name, p.Pods, p.Missing.Min, p.Missing.Max, len(p.Away)))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if !plan.Recreates() || (Plan{}).Recreates() {
				t.Error("new pods of a rollout are created, and none without a step")
			}
			if bound := len(plan.Bound()); bound != tt.bound || missing.Min != tt.missing[0] || missing.Max != tt.missing[1] {
				t.Errorf("%d pods with claims, %v missing", bound, missing)
			}
			if seen.Nodes["a"].Labels["dedicated"] != "" {
				t.Error("the shared snapshot has changed")
			}
		})
	}
}

// TestRestarts gives a toleration to three pods of a workload on two nodes, or takes it away.
func TestRestarts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		kind   string
		pace   *workload.Pace
		cores  int64
		later  bool
		taints []string
		want   []string
		// contract takes the toleration away, and with taken the taint of b with it.
		contract, taken bool
		// evicts has the other taint evict pods before.
		evicts bool
	}{
		"a surge that finds room":                       {kind: "Deployment", pace: &workload.Pace{Surge: 1}, cores: 3, want: []string{"web 3 0 0"}},
		"a surge that finds none":                       {kind: "Deployment", pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"y:NoSchedule"}, want: []string{"web 3 3 3"}},
		"a surge onto a node that new pods tolerate":    {kind: "Deployment", pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"x=1:NoSchedule"}, want: []string{"web 3 0 0"}},
		"an old pod is deleted first":                   {kind: "Deployment", pace: &workload.Pace{Unavailable: 1}, cores: 2, taints: []string{"y:NoSchedule"}, want: []string{"web 3 1 3"}},
		"pods of a DaemonSet":                           {kind: "DaemonSet", cores: 1},
		"pods that follow later":                        {kind: "Deployment", later: true, cores: 1},
		"a toleration is removed where there is room":   {kind: "Deployment", contract: true, pace: &workload.Pace{Surge: 1}, cores: 3, want: []string{"web 3 0 0"}},
		"a toleration is removed, and luck decides":     {kind: "Deployment", contract: true, pace: &workload.Pace{Surge: 1}, cores: 3, taints: []string{"y:NoSchedule"}, want: []string{"web 3 0 2"}},
		"a toleration is removed where there is none":   {kind: "Deployment", contract: true, pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"y:NoSchedule"}, want: []string{"web 3 3 3"}},
		"a toleration is removed, and its taint stays":  {kind: "Deployment", contract: true, pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"x=1:NoSchedule"}, want: []string{"web 3 3 3"}},
		"a toleration is removed, and its taint before": {kind: "Deployment", contract: true, taken: true, pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"*x=1:NoSchedule"}, want: []string{"web 3 0 0"}},
		"nothing is said where pods are evicted before": {kind: "Deployment", contract: true, evicts: true, pace: &workload.Pace{Surge: 1}, cores: 2, taints: []string{"y:NoSchedule"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, tt.kind, "web")
			if tt.contract {
				w = aWorkload(t, tt.kind, "web", "*x=1:NoSchedule")
			}
			w.Rolling.Pace, w.Rolling.Later = tt.pace, tt.later
			a, b := aNode(t, "a", "cpu"), aNode(t, "b", "cpu", tt.taints...)
			asks := snapshot.Resources{MilliCPU: 1000}
			a.Allocatable, b.Allocatable = &snapshot.Resources{MilliCPU: 1000 * tt.cores, Pods: 10}, &snapshot.Resources{MilliCPU: 2000, Pods: 10}
			pods := []*snapshot.Pod{aPod(t, w, "web-0", "a"), aPod(t, w, "web-1", "a"), aPod(t, w, "web-2", "b")}
			for _, p := range pods {
				scheduling := *p.Scheduling
				scheduling.Tolerations = w.Tolerations
				p.Ready, p.Demand, p.Scheduling = true, &snapshot.Demand{Asks: asks, Holds: asks}, &scheduling
			}
			seen := aSnapshot([]*snapshot.Node{a, b}, pods...)
			change := Change{Workloads: []Tolerations{{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Tolerations: tols(t, "x=1:NoSchedule")}}}}
			if tt.contract {
				change.Workloads[0] = Tolerations{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Release: true}, RemoveImmediately: !tt.taken}
			}
			if tt.taken {
				change.Nodes = []NodeTaints{{Target: Target{Name: "b"}, Claim: taint.Claim{Owner: "me", Generation: "g2", Release: true}}}
			}
			if tt.evicts {
				change.Nodes = []NodeTaints{{Target: Target{Name: "a"}, Claim: taint.Claim{Owner: "me", Generation: "g3", Taints: taintsOf(t, "z:NoExecute")}}}
			}
			plan := Order(seen, change, eviction.ComparisonOff)
			if len(plan.Steps) == 0 {
				t.Fatal("nothing changes")
			}
			all, _ := Restarts(seen, plan.Steps, eviction.ComparisonOff)
			var got []string
			for _, p := range all {
				got = append(got, fmt.Sprintf("%s %d %d %d", p.Workload.Name, p.Pods, p.Missing.Min, p.Missing.Max))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
