// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestReport_evictedAreThosePodsThatMayBeEvicted.
func TestReport_evictedAreThosePodsThatMayBeEvicted(t *testing.T) {
	t.Parallel()
	var none *Report
	if got := none.Evicted(); got != nil {
		t.Errorf("of no report there are %v", got)
	}
	var r Report
	for _, v := range []Verdict{EvictedNow, EvictedAfter, Drained, Unknown, Stays} {
		r.Pods = append(r.Pods, PodVerdict{Pod: &snapshot.Pod{Name: string(v)}, Verdict: v})
	}
	var got []string
	for _, p := range r.Evicted() {
		got = append(got, p.Name)
	}
	if diff := cmp.Diff([]string{string(EvictedNow), string(EvictedAfter), string(Drained), string(Unknown)}, got); diff != "" {
		t.Error(diff)
	}
}

// TestReport_ofAPodThatDependsOnTheOrder: on n2 is room for one of two pods, and none for those of another kind.
func TestReport_ofAPodThatDependsOnTheOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 1)).run(
		pod("a", "n1", asking(1, 1)), other("b", "n1", asking(1, 1)), pod("big", "n1", ownedBy("ReplicaSet", "big"), asking(4, 1)),
		pod("bare", "n1", bare), pod("log", "n1", ownedBy("DaemonSet", "log"), pinned("n1"), asking(1, 1)), pod("calm", "n1", tolerating(exists("", ""))))
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	for name, want := range map[string][2]string{
		"a": {"", "; whether any node fits depends on the order"}, "b": {"", "; whether any node fits depends on the order"},
		"big": {"pending", "; no node fits: 1 is tainted a:NoExecute, 1 lacks memory (needs 1Gi, none free)"}, "bare": {"", "; no controller recreates it"},
		"log": {"", "; not recreated until the node's taints and labels allow it"}, "calm": {"", "tolerates a:NoExecute"},
	} {
		for _, v := range r.Pods {
			if v.Pod.Name == name && (r.Placement(v) != want[0] || !strings.HasSuffix(r.Why(v), want[1])) {
				t.Errorf("%s: %q, %s", name, r.Placement(v), r.Why(v))
			}
		}
	}
}

// TestPlacements looks for a node beside n1 for what replaces a pod with other tolerations.
func TestPlacements(t *testing.T) {
	t.Parallel()
	x, y := exists("x", ""), exists("y", "")
	for name, tt := range map[string]struct {
		after     []corev1.Toleration
		taints    map[string][]corev1.Taint
		found     bool
		obstacles string
	}{
		"it tolerates its node":               {after: []corev1.Toleration{x}, found: true},
		"it tolerates the other node":         {after: []corev1.Toleration{y}, found: true},
		"it tolerates neither":                {obstacles: "1 is tainted y:NoSchedule"},
		"the other node loses its taint":      {taints: map[string][]corev1.Taint{"n2": nil}, found: true},
		"its node gets a taint that it lacks": {after: []corev1.Toleration{x}, taints: map[string][]corev1.Taint{"n1": taintsOf("z:NoSchedule")}, obstacles: "1 is tainted y:NoSchedule"},
	} {
		p := pod("p", "n1", tolerating(x))
		w := newWorld(node("n1", "x:NoSchedule"), node("n2", "y:NoSchedule")).run(p)
		got := Placements(w.Snapshot, []*snapshot.Pod{p}, Planned{Before: []corev1.Toleration{x}, After: tt.after, Sure: true}, tt.taints, ComparisonOff)
		if len(got) != 1 || got[0].Found != tt.found || got[0].Obstacles != tt.obstacles {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestEvaluate_completedAndStaticPodsAreRecreatedByNoController, whatever it would make of others.
func TestEvaluate_completedAndStaticPodsAreRecreatedByNoController(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]*snapshot.Pod{
		"a completed pod of a Job":       pod("p", "n1", ownedBy("Job", "build"), completed),
		"a completed pod of a DaemonSet": pod("p", "n1", ownedBy("DaemonSet", "log"), completed, pinned("n1")),
		"a static pod":                   pod("p", "n1", mirror),
	} {
		p.Scheduling.Tolerations = []corev1.Toleration{exists("other", "")}
		w := newWorld(node("n1")).run(p).admitting(nil).allowing(exists("none", ""))
		v := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff))
		if !v.Leaves() || v.NoPlace || v.Lost || strings.Contains(v.Reason, "recreate it") || strings.Contains(v.Reason, "not recreated") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestEvaluate_otherNodesDecideOnAPodThatItsOwnWouldNotTake: such a pod may have room elsewhere.
func TestEvaluate_otherNodesDecideOnAPodThatItsOwnWouldNotTake(t *testing.T) {
	t.Parallel()
	labelled := func(p *snapshot.Pod) { p.Scheduling.NodeSelector = map[string]string{"pool": "gpu"} }
	for name, tt := range map[string]struct {
		pod    *snapshot.Pod
		change Scenario
		want   bool
	}{
		"a taint that it does not tolerate":   {pod("p", "n1"), tainting("n1", "a:NoSchedule"), true},
		"a taint that it tolerates":           {pod("p", "n1", tolerating(exists("a", ""))), tainting("n1", "a:NoSchedule"), false},
		"a pod of a DaemonSet":                {pod("p", "n1", ownedBy("DaemonSet", "log"), pinned("n1")), tainting("n1", "a:NoSchedule"), false},
		"a label that it requires":            {pod("p", "n1", labelled), labelling("n1", nil), true},
		"a label that it does not require":    {pod("p", "n1"), labelling("n1", nil), false},
		"a label that a DaemonSet's requires": {pod("p", "n1", labelled, ownedBy("DaemonSet", "log"), pinned("n1")), labelling("n1", nil), false},
	} {
		n := node("n1")
		n.Labels["pool"] = "gpu"
		v := only(t, Evaluate(newWorld(n).run(tt.pod).Snapshot, tt.change, ComparisonOff))
		if v.OtherNodes != tt.want {
			t.Errorf("%s: other nodes decide: %t (%s)", name, v.OtherNodes, v.Reason)
		}
	}
}

// TestAnswers_ofTwoThatLastAsLongNameThatOfTheFirstPod, on whichever node it runs.
func TestAnswers_ofTwoThatLastAsLongNameThatOfTheFirstPod(t *testing.T) {
	t.Parallel()
	w := newWorld()
	for i := range 20 {
		n := node(fmt.Sprintf("n%02d", i))
		w.Nodes[n.Name] = n
		w = w.run(pod(fmt.Sprintf("p%02d", i), n.Name, tolerating(lasting(exists("a", noEx), 60), corev1.Toleration{Key: fmt.Sprint(i), Operator: corev1.TolerationOpExists})))
	}
	w.Pods["n00"][0].Scheduling.Tolerations = []corev1.Toleration{lasting(equal("a", "1", noEx), 60)}
	got := Answers(w.Snapshot, taintsOf("a=1:NoExecute"), everyPod, ComparisonOff)
	if len(got) != 1 || got[0].Pods != 20 || !got[0].Differ || answered(got[0].Taints[0]) != "a=1:NoExecute 60 s by a=1:NoExecute for 60s" {
		t.Errorf("got %+v", got)
	}
}
