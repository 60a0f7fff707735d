// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestSimulate_aPodThatMayLeaveFreesItsRoomInSomeOrders: the run replaces it, or its seconds run.
func TestSimulate_aPodThatMayLeaveFreesItsRoomInSomeOrders(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(p *snapshot.Pod)
		leaves bool
		placed Range
	}{
		"a pod that stays":     {nil, false, exactly(0)},
		"a pod that may leave": {nil, true, Range{0, 1}},
		"a completed pod":      {completed, true, exactly(1)},
		"a static pod":         {func(p *snapshot.Pod) { p.Mirror = true }, true, exactly(0)},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(replicas("web", "n1", 1, asking(2, 2))...).run(replicas("stays", "n2", 1, asking(2, 2))...)
		if tt.change != nil {
			tt.change(w.named(t, "stays-0"))
		}
		change := gone("n1")
		change.Leaving = func(node string) func(*snapshot.Pod) bool {
			if node != "n2" {
				return nil
			}
			return func(*snapshot.Pod) bool { return tt.leaves }
		}
		out := New(w.Snapshot, change, false).Simulate(w.evictAll("n1"), Orders, 1)
		if got := out.of(t, "web"); got.Placed != tt.placed || out.Preempted != exactly(0) {
			t.Errorf("%s: %+v, preempted %v", name, got, out.Preempted)
		}
	}
}

// TestDecide_evictsUndecidedPodsInSomeOrders: all of them, none, and each by chance, in turn.
func TestDecide_evictsUndecidedPodsInSomeOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 99, 99)).run(replicas("web", "n1", 9, asking(1, 1))...).protect("web", 9)
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Unsure = true
		evicted[i].Pod.Labels, evicted[i].Pod.Ready = map[string]string{"app": "web"}, i > 2
	}
	s := newSimulation(New(w.Snapshot, Change{}, false), evicted)
	for order := range 9 {
		s.run(1, order)
		var goes, spent int32
		for _, one := range s.undecided {
			if s.isPreempted[one.pod] {
				if goes++; one.pod.Ready {
					spent++
				}
			}
			if (one.replacement.after == 0) != s.isPreempted[one.pod] || one.replacement.created != s.isPreempted[one.pod] {
				t.Errorf("order %d: the replacement of %s comes at %d, and it goes: %t", order, one.pod.Name, one.replacement.after, s.isPreempted[one.pod])
			}
		}
		want := map[int]bool{0: goes == 9, 1: goes == 0, 2: goes > 0 && goes < 9}[order%3]
		if !want || s.budgets.preempted[&w.Budgets["app"][0]] != spent {
			t.Errorf("order %d: %d are evicted, and %d count towards their PodDisruptionBudget", order, goes, s.budgets.preempted[&w.Budgets["app"][0]])
		}
	}
	out := s.try(Orders, 1)
	if got := out.Workloads[0]; got.Placed != (Range{0, 9}) || got.Pending != exactly(0) || out.Of(evicted[0].Pod).Fate != Fits {
		t.Errorf("%+v, and the fate is %s", got, out.Of(evicted[0].Pod).Fate)
	}
}

// TestPreemptUndecided_spendsItsBudget, and gives its quota back.
func TestPreemptUndecided_spendsItsBudget(t *testing.T) {
	t.Parallel()
	w := crowded(10).protect("victim", 3)
	victim := w.named(t, "victim-0")
	w.Quotas = snapshot.Quotas{"app": {{Name: "q", Limits: []snapshot.QuotaLimit{{Resource: corev1.ResourcePods, Hard: 2, Used: 2}}}}}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), append(w.evictAll("n1"), Eviction{Pod: victim, Unsure: true, Scheduling: victim.Scheduling}))
	for _, order := range []int{0, 1} {
		s.run(1, order)
		if got := s.budgets.preempted[&w.Budgets["app"][0]]; got != 1 {
			t.Errorf("order %d: %d count towards its PodDisruptionBudget", order, got)
		}
		if diff := cmp.Diff(map[string]string{"web-0": "n2", "victim-0": ""}, s.placed()); diff != "" || s.replacements[1].refused != nil {
			t.Errorf("order %d: refused %+v: %s", order, s.replacements[1].refused, diff)
		}
	}
}

// TestNominate_takesPodsThatWait, and no pod that the change evicts.
func TestNominate_takesPodsThatWait(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, asking(1, 1), nominated("n2"))...).
		waiting("high", 1, asking(1, 1), nominated("n2")).waiting("plain", 1, asking(1, 1)).waiting("forbidden", 1, asking(1, 1), nominated("n2"))
	for _, p := range w.Waiting {
		if p.Name == "forbidden-0" {
			p.Scheduling = &snapshot.Scheduling{Forbidden: []corev1.Toleration{exists("a", "")}}
		}
	}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	if len(s.nominated) != 1 || s.nominated[0].pod.Name != "high-0" {
		t.Errorf("there are %d nominated pods", len(s.nominated))
	}
}

// TestKeepsRoom_ofPodsThatTerminate and have a lower priority.
func TestKeepsRoom_ofPodsThatTerminate(t *testing.T) {
	t.Parallel()
	rules := ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "none"}), OwnNamespace: true}}})
	for name, tt := range map[string]struct {
		beside podOption
		rules  podOption
		want   bool
	}{
		"a pod of a lower priority terminates":      {func(p *snapshot.Pod) { terminating(p); priority(9)(p) }, nil, true},
		"a pod of the same priority terminates":     {func(p *snapshot.Pod) { terminating(p); priority(10)(p) }, nil, false},
		"a pod of a lower priority runs":            {priority(9), nil, false},
		"a pod with rules, and one that terminates": {func(p *snapshot.Pod) { terminating(p); priority(9)(p) }, rules, true},
		"a pod with rules, and one that runs":       {priority(9), rules, false},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(pod("beside", "n2", asking(4, 4), tt.beside))
		options := []podOption{asking(4, 4), priority(10), nominated("n2")}
		if tt.rules != nil {
			options = append(options, tt.rules)
		}
		w = w.waiting("high", 1, options...)
		s := newSimulation(New(w.Snapshot, Change{}, false), nil)
		s.run(1, 0)
		s.reset()
		before := *s.state(1)
		if got := s.keepsRoom(s.nominated[0].class, 1); got != tt.want {
			t.Errorf("%s: it keeps its room: %t", name, got)
		}
		if after := s.state(1); after.milliCPU != before.milliCPU || after.pods != before.pods || s.freed != 1 || s.moved != 1 {
			t.Errorf("%s: the node holds %+v, and held %+v", name, *after, before)
		}
	}
}
