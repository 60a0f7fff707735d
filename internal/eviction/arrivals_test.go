// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func ranked(n int32) podOption { return func(p *snapshot.Pod) { p.Demand.Priority = n } }

// On n2 is room for one pod: web is evicted from n1, and the DaemonSet log has a pod there.
func TestSimulate_aDaemonSetTakesRoomOnANodeThatItsTemplateFits(t *testing.T) {
	t.Parallel()
	none, one, either := number(0), number(1), placement.Range{Max: 1}
	x, y := taintsOf("x:NoSchedule"), taintsOf("y:NoSchedule")
	pooled := map[string]string{"kubernetes.io/hostname": "n2", "pool": "gpu"}
	for name, tt := range map[string]struct {
		before   []corev1.Taint
		change   Scenario
		template corev1.PodSpec
		priority int32
		others   []*snapshot.Pod
		pending  placement.Range
		victims  int
	}{
		"the taint that kept it away is removed": {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, priority: 9, pending: one},
		"it has the priority of the evicted pod": {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, pending: either},
		"another taint keeps it away":            {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": y}}, priority: 9, pending: one},
		"it tolerated the taint before":          {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, template: corev1.PodSpec{Tolerations: []corev1.Toleration{exists("x", "")}}, priority: 9, pending: none},
		"a label that it requires comes":         {change: Scenario{Labels: map[string]map[string]string{"n2": pooled}}, template: corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}}, priority: 9, pending: one},
		"a label comes that it does not require": {change: Scenario{Labels: map[string]map[string]string{"n2": pooled}}, priority: 9, pending: none},
		"the node still lacks a label":           {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, template: corev1.PodSpec{NodeSelector: map[string]string{"pool": "gpu"}}, priority: 9, pending: none},
		"a drained node gets none":               {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}, Drains: map[string]bool{"n2": true}}, priority: 9, pending: one},
		"it runs there already":                  {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, priority: 9, others: []*snapshot.Pod{pod("log-2", "n2", ownedBy("DaemonSet", "log"), pinned("n2"), asking(0, 0))}, pending: none},
		"it preempts a pod that the node has":    {before: x, change: Scenario{Taints: map[string][]corev1.Taint{"n2": nil}}, priority: 9, others: []*snapshot.Pod{other("calm", "n2", asking(1, 1))}, pending: one, victims: 1},
	} {
		log := pod("log-1", "n1", ownedBy("DaemonSet", "log"), asking(1, 1), ranked(tt.priority), pinned("n1"), tolerating(exists("evict", "")))
		tt.template.Tolerations = append(tt.template.Tolerations, exists("evict", ""))
		n2 := having(node("n2"), 1, 1)
		n2.Taints = tt.before
		w := newWorld(having(node("n1"), 9, 9), n2).run(pod("web", "n1", asking(1, 1)), log).run(tt.others...).template("log", tt.template)
		if tt.change.Taints == nil {
			tt.change.Taints = map[string][]corev1.Taint{}
		}
		tt.change.Taints["n1"] = taintsOf("evict:NoExecute")
		out := Evaluate(w.Snapshot, tt.change, ComparisonOff).Outcome()
		if got := outcomeOf(t, out, "web-5d"); got.Pending != tt.pending || len(out.Victims) != tt.victims {
			t.Errorf("%s: %v Pending, want %v; preempted %v", name, got.Pending, tt.pending, out.Victims)
		}
		for _, o := range out.Workloads {
			if o.Kind == "DaemonSet" {
				t.Errorf("%s: the pod that comes counts as a replacement: %+v", name, o)
			}
		}
	}
}

// TestArrivals_areOnNodesThatTheChangeOpens, for pods of DaemonSets whose template is known.
func TestArrivals_areOnNodesThatTheChangeOpens(t *testing.T) {
	t.Parallel()
	log := snapshot.WorkloadKey{Namespace: "app", Owner: snapshot.Owner{Group: "apps", Kind: "DaemonSet", Name: "log"}}
	tolerates := func(sure bool) map[snapshot.WorkloadKey]Planned {
		return map[snapshot.WorkloadKey]Planned{log: {After: []corev1.Toleration{exists("y", "")}, Sure: sure}}
	}
	for name, tt := range map[string]struct {
		change Scenario
		want   int
	}{
		"a taint is removed":                                    {tainting("n2"), 1},
		"no taint is removed":                                   {tainting("n2", "x:NoSchedule"), 0},
		"another taint comes in its place":                      {tainting("n2", "y:NoSchedule"), 0},
		"another taint comes that the plan has it tolerate":     {Scenario{Taints: tainting("n2", "y:NoSchedule").Taints, Tolerations: tolerates(true)}, 1},
		"another taint comes that it may come to tolerate":      {Scenario{Taints: tainting("n2", "y:NoSchedule").Taints, Tolerations: tolerates(false)}, 0},
		"the node is drained":                                   {Scenario{Taints: tainting("n2").Taints, Drains: draining("n2").Drains}, 0},
		"the node is deleted":                                   {Scenario{Taints: tainting("n2").Taints, Closed: map[string]bool{"n2": true}}, 0},
		"a taint stays that the plan has it tolerate by then":   {Scenario{Taints: tainting("n2", "x:NoSchedule").Taints, Tolerations: map[snapshot.WorkloadKey]Planned{log: {After: []corev1.Toleration{exists("x", "")}, Sure: true}}}, 0},
		"no taint is removed, and a node label that it has not": {Scenario{Taints: tainting("n2", "x:NoSchedule").Taints, Labels: map[string]map[string]string{"n2": {"a": "b"}}}, 0},
	} {
		w := newWorld(node("n1"), node("n2", "x:NoSchedule")).run(
			pod("web", "n1", bare), pod("log-b", "n1", ownedBy("DaemonSet", "log"), pinned("n1"), asking(1, 1)), pod("log-a", "n3", ownedBy("DaemonSet", "log"), pinned("n3")),
			pod("agent", "n1", ownedBy("DaemonSet", "agent")), pod("done", "n1", ownedBy("DaemonSet", "done"), completed),
		).template("log", corev1.PodSpec{}).template("done", corev1.PodSpec{})
		got := newEvaluation(w.Snapshot, tt.change, ComparisonOff).arrivals([]string{"n2"})
		if len(got) != tt.want {
			t.Errorf("%s: there come %v", name, got)
		}
		for _, one := range got {
			if p := one.Pod; p.Name != "log-a" || p.Node != "" || p.Ready || p.UID != "" || p.Since != math.MaxInt64 || !one.Arrives {
				t.Errorf("%s: there comes %+v", name, p)
			}
		}
		if like := w.Pods["n3"][0]; like.Node != "n3" || like.UID == "" {
			t.Errorf("%s: the shared snapshot has changed", name)
		}
	}
}
