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
	s := newSimulation(New(w.Snapshot, Scenario{}, false), evicted)
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
	if got := out.Workloads[0]; got.Placed != (Range{0, 9}) || got.Missing != exactly(0) || got.NotCreated != exactly(0) || out.Of(evicted[0].Pod).Fate != Fits {
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
		s := newSimulation(New(w.Snapshot, Scenario{}, false), nil)
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

// TestDecide_letsUnsurePodsGoInEveryFourthOrder.
func TestDecide_letsUnsurePodsGoInEveryFourthOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, asking(2, 2))...).run(replicas("leaves", "n2", 1, asking(2, 2))...)
	change := gone("n1")
	change.Leaving = func(string) func(*snapshot.Pod) bool { return func(*snapshot.Pod) bool { return true } }
	s := newSimulation(New(w.Snapshot, change, false), w.evictAll("n1"))
	for order := range 8 {
		s.run(1, order)
		if goes := s.isPreempted[w.named(t, "leaves-0")]; goes != (order%4 == 1) {
			t.Errorf("order %d: it goes: %t", order, goes)
		}
	}
}

// TestPreemption_rulesOfTheReplacementOfAVictim: those count pods as the order has put them so far.
func TestPreemption_rulesOfTheReplacementOfAVictim(t *testing.T) {
	t.Parallel()
	away := ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "side"}), OwnNamespace: true}}})
	for name, tt := range map[string]struct {
		side   string
		others []*snapshot.Pod
		placed Range
	}{
		"no such pod is on the other node":            {side: "other", placed: exactly(1)},
		"one has been placed on the other node":       {side: "side", placed: exactly(0)},
		"one has been preempted on the other node":    {side: "other", others: []*snapshot.Pod{pod("old", "n3", asking(6, 6), priority(0), patient, labelledAs("app", "side"), ownedBy("ReplicaSet", "old"))}, placed: exactly(1)},
		"one is still on the other node":              {side: "other", others: []*snapshot.Pod{pod("old", "n3", asking(0, 0), priority(20), labelledAs("app", "side"), ownedBy("ReplicaSet", "old"))}, placed: exactly(0)},
		"one that has completed is on the other node": {side: "other", others: []*snapshot.Pod{pod("old", "n3", completed, asking(6, 6), labelledAs("app", "side"), ownedBy("ReplicaSet", "old"))}, placed: exactly(1)},
	} {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 4, 4), having(node("n3"), 8, 8)).
			run(pod("web-0", "n1", asking(4, 4), priority(10), ownedBy("ReplicaSet", "web"), selecting("kubernetes.io/hostname", "n2"))).
			run(pod("side-0", "n1", asking(4, 4), priority(11), ownedBy("ReplicaSet", "side"), labelledAs("app", tt.side), selecting("kubernetes.io/hostname", "n3"))).
			run(pod("victim-0", "n2", asking(4, 4), priority(1), patient, ownedBy("ReplicaSet", "victim"), labelledAs("app", "victim"), away)).run(tt.others...)
		out := w.simulate()
		if got := out.of(t, "victim"); got.Placed != tt.placed || got.Preempted != exactly(1) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPreemption_ofAReplacement: a pod that was placed gives way to one that comes later, and is placed elsewhere.
func TestPreemption_ofAReplacement(t *testing.T) {
	t.Parallel()
	for bare, placed := range map[bool]Range{false: exactly(1), true: exactly(0)} {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).run(
			pod("low-0", "n1", asking(4, 4), priority(1), ownedBy("ReplicaSet", "low")), pod("high-0", "n1", asking(4, 4), priority(10), ownedBy("ReplicaSet", "high"), selecting("kubernetes.io/hostname", "n2")),
			pod("leaves-0", "n3", asking(4, 4), priority(20), ownedBy("ReplicaSet", "leaves")))
		evicted := w.evictAll("n1")
		evicted[1].After = 60
		evicted = append(evicted, Eviction{Pod: w.named(t, "leaves-0"), After: 60})
		if bare {
			evicted[0].Pod.Controller = nil
		}
		out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
		low := map[bool]string{false: "low", true: "low-0"}[bare]
		if got := out.of(t, low); got.Placed != placed || out.of(t, "high").Placed != exactly(1) || out.Preempted != exactly(0) {
			t.Errorf("bare %t: %+v, high %+v", bare, got, out.of(t, "high"))
		}
	}
}

// TestSimulate_podsThatWait compete unless they have run to their end, and no quota counts them a second time.
func TestSimulate_podsThatWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change podOption
		placed bool
	}{
		"a pod that waits":            {func(*snapshot.Pod) {}, true},
		"a pod that has failed":       {completed, false},
		"a pod that is being deleted": {terminating, false},
		"a pod behind its own gate":   {func(p *snapshot.Pod) { p.Gated = true }, false},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).waiting("waits", 1, asking(2, 2), priority(9), tt.change)
		w.Quotas = snapshot.Quotas{"app": {{Name: "q", Limits: []snapshot.QuotaLimit{{Resource: corev1.ResourcePods, Hard: 1, Used: 1}}}}}
		s := newSimulation(New(w.Snapshot, tainting("n1", "a:NoSchedule"), false), nil)
		s.run(1, 0)
		if got := s.placed()["waits-0"]; (got == "n2") != tt.placed {
			t.Errorf("%s is on %q", name, got)
		}
	}
}

// TestSimulate_podsOfAnOrderedStatefulSetWait for the one before, and for what that waits for.
func TestSimulate_podsOfAnOrderedStatefulSetWait(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(
		pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(8, 8)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	change := gone("n1")
	change.Comes = []Coming{{Node: having(node("new"), 9, 9), Of: "MachineSet a"}}
	out := New(w.Snapshot, change, false).Simulate(w.ordered("n1"), Orders, 1)
	for _, name := range []string{"db-0", "db-1"} {
		if g := out.Of(w.named(t, name)); g.Fate != Pending || len(g.Awaits) != 1 || g.Awaits[0] != "MachineSet a" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	// One that waited before, and that no node takes.
	w = newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	w.Waiting = []*snapshot.Pod{pod("db-0", "", ownedBy("StatefulSet", "db"), asking(8, 8), func(p *snapshot.Pod) { p.Ready = false })}
	if got := New(w.Snapshot, gone("n1"), false).Simulate(w.ordered("n1"), Orders, 1).of(t, "db"); got.NotCreated != exactly(1) || got.AllMissing != exactly(2) {
		t.Errorf("behind a Pending pod: %+v", got)
	}
	// Of several that are not ready the first one is named.
	w = newWorld(having(node("n1"), 9, 9)).run(pod("db-9", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	for _, ordinal := range []string{"5", "3", "8", "1", "7", "2"} {
		w.Nodes["m"+ordinal] = having(node("m"+ordinal), 9, 9)
		w = w.run(pod("db-"+ordinal, "m"+ordinal, ownedBy("StatefulSet", "db"), func(p *snapshot.Pod) { p.Ready = false }))
	}
	if g := New(w.Snapshot, gone("n1"), false).Simulate(w.ordered("n1"), Orders, 1).Of(w.named(t, "db-9")); g.Behind == nil || g.Behind.Name != "db-1" {
		t.Errorf("it waits for %+v", g.Behind)
	}
	// A name without an ordinal is of no order.
	w = newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).run(pod("db", "n1", ownedBy("StatefulSet", "db"), asking(8, 8)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	if got := New(w.Snapshot, gone("n1"), false).Simulate(w.ordered("n1"), Orders, 1).of(t, "db"); got.Placed != exactly(1) || got.Pending != exactly(1) {
		t.Errorf("beside a pod without an ordinal: %+v", got)
	}
}

// TestSpread_countsEmptyDomainsOnlyBelowTheirMinimum.
func TestSpread_countsEmptyDomainsOnlyBelowTheirMinimum(t *testing.T) {
	t.Parallel()
	for domains, placed := range map[int32]Range{1: exactly(1), 2: exactly(1), 3: exactly(0)} {
		spread := ruled(&snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: domains, TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "web"})}}})
		w := newWorld(having(node("n1"), 9, 9), labelled(having(node("n2"), 9, 9), "zone", "a"), labelled(having(node("n3"), 9, 9), "zone", "b")).
			run(pod("web-0", "n1", asking(1, 1), ownedBy("ReplicaSet", "web"), labelledAs("app", "web"), spread)).
			run(pod("a", "n2", labelledAs("app", "web")), pod("b", "n3", labelledAs("app", "web")))
		if got := w.simulate().of(t, "web"); got.Placed != placed {
			t.Errorf("at least %d domains: %+v", domains, got)
		}
	}
}
