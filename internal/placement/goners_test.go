// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// An ordered StatefulSet waits for a pod that is not ready only where an order leaves it there.
func TestSimulate_anOrderedStatefulSetWaitsForNoPodThatIsGone(t *testing.T) {
	t.Parallel()
	db := ownedBy("StatefulSet", "db")
	// It is not known whether the change evicts db-0.
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(pod("db-0", "n1", db, asking(1, 1), unready), pod("db-1", "n1", db, asking(1, 1)))
	evicted := w.ordered("n1")
	evicted[0].Unsure = true
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if g := out.Of(evicted[1].Pod); g.Fate != DependsOnOrder {
		t.Errorf("db-0 may stay, and what replaces db-1 is %s", g.Fate)
	}
	// One that is terminating is there until it is gone, also while another pod has its room.
	w = newWorld(having(node("n1"), 20, 20), having(node("n2"), 4, 4), having(node("n3"), 9, 9)).
		run(pod("db-0", "n2", db, asking(4, 4), terminating), pod("db-1", "n1", db, asking(1, 1))).run(replicas("high", "n1", 1, asking(4, 4), priority(10), selecting("kubernetes.io/hostname", "n2"))...).
		run(replicas("later", "n1", 1, asking(1, 1))...)
	evicted = append(w.ordered("n1"), Eviction{Pod: w.named(t, "db-0"), Scheduling: &snapshot.Scheduling{}, Ordered: true})
	evicted[2].After = 10
	s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
	for order := range Orders {
		if s.run(1, order); s.replacements[0].node >= 0 && s.replacements[0].since < terminatingGone {
			t.Errorf("order %d: db-1 is created after %ds", order, s.replacements[0].since)
		}
	}
	// Preemption evicts both.
	w = newWorld(having(node("n1"), 9, 9), having(node("n2"), 8, 8), having(node("n3"), 7, 7)).
		run(pod("db-0", "n2", db, asking(3, 3), unready), pod("db-1", "n2", db, asking(3, 3))).run(replicas("high", "n1", 1, asking(8, 8), priority(10))...)
	change := gone("n1")
	change.Replaced = func(p *snapshot.Pod) Eviction { return Eviction{Pod: p, Scheduling: p.Scheduling, Ordered: true} }
	if got := New(w.Snapshot, change, false).Simulate(w.evictAll("n1"), Orders, 1).of(t, "db"); got.Preempted != exactly(2) || got.Placed != exactly(2) {
		t.Errorf("%v are preempted, and %v placed", got.Preempted, got.Placed)
	}
}

// high preempts v, which the change would evict after a minute. What replaces v takes the place that is free, before p is evicted.
func TestSimulate_aVictimThatTheChangeEvictsLaterIsReplacedNow(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 20, 20), having(node("n2"), 8, 8), having(node("n3"), 4, 4)).
		run(replicas("high", "n1", 1, asking(8, 8), priority(10))...).run(replicas("p", "n1", 1, asking(4, 4))...).run(replicas("v", "n2", 1, asking(4, 4))...)
	evicted := append(w.evictAll("n1"), w.evictAll("n2")...)
	evicted[1].After, evicted[2].After = 30, 60
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if v, p := out.of(t, "v"), out.of(t, "p"); v.Placed != exactly(1) || p.Pending != exactly(1) || out.Preempted != exactly(0) {
		t.Errorf("v %+v, p %+v, preempted %v", v, p, out.Preempted)
	}
	// Until its minute is over it counts for its PodDisruptionBudget all the same.
	w = newWorld(having(node("n1"), 20, 20), having(node("n2"), 8, 8), having(node("n3"), 4, 4), having(node("n4"), 5, 5), having(node("n5"), 5, 5)).
		run(replicas("first", "n1", 1, asking(8, 8), priority(20))...).run(replicas("second", "n1", 1, asking(5, 5), priority(10))...).
		run(replicas("v", "n2", 1, asking(4, 4), app("a"))...).run(replicas("guarded", "n4", 1, asking(5, 5), app("a"), priority(1))...).run(replicas("free", "n5", 1, asking(5, 5), app("b"), priority(2), patient)...).protect("a", 1)
	evicted = append(w.evictAll("n1"), w.evictAll("n2")...)
	evicted[2].After = 60
	if got := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1); got.of(t, "free").Preempted != exactly(1) || got.Preempted != exactly(1) {
		t.Errorf("%q are preempted, want that of free", got.victims())
	}
}

// An order that does not evict high, which is not known, has the change evict v, and nothing is left of the order before.
func TestSimulate_anEarlyReplacementIsThatOfOneOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 20, 20), having(node("n2"), 8, 8), having(node("n3"), 4, 4)).
		run(replicas("high", "n1", 1, asking(8, 8), priority(10))...).run(replicas("v", "n2", 1, asking(4, 4), app("a"))...).protect("a", 1)
	evicted := append(w.evictAll("n1"), w.evictAll("n2")...)
	evicted[0].Unsure, evicted[1].After = true, 60
	s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
	for order, want := range map[int]struct {
		since   int64
		allowed int32
	}{0: {0, 0}, 1: {60, 1}, 3: {0, 0}, 4: {60, 1}} {
		s.run(1, order)
		s.moment, s.recovers = 0, false
		if v, allowed := s.replacements[1], s.budgets.allowed(s, &w.Budgets["app"][0], "app"); v.since != want.since || v.node < 0 || allowed != want.allowed {
			t.Errorf("order %d: it is created at %d, want %d, and its PodDisruptionBudget allows %d, want %d", order, v.since, want.since, allowed, want.allowed)
		}
	}
}

func app(name string) podOption {
	return func(p *snapshot.Pod) { p.Labels = map[string]string{"app": name} }
}

// The first of two big pods preempts the one that is not ready, since it costs least.
func TestBudgets_aVictimThatIsNotReadyDisruptsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4), having(node("n4"), 4, 4)).
		run(replicas("big", "n1", 2, asking(4, 4), priority(10))...).run(other("a1", "n2", asking(4, 4), app("a"), unready)).
		run(other("a2", "n3", asking(4, 4), app("a"), priority(1))).run(other("b", "n4", asking(4, 4), app("b"), priority(2), patient)).protect("a", 1)
	out := w.simulate()
	for _, v := range out.Victims {
		if v.Pod.Name == "b" {
			t.Errorf("%q are preempted, and the PodDisruptionBudget allows the other two", out.victims())
		}
	}
	if out.Preempted != exactly(2) {
		t.Errorf("%v are preempted", out.Preempted)
	}
}

// std is the default PriorityClass, which came after the pod: the quota counts what replaces it, and has not counted it.
func TestQuotas_giveBackOnlyWhatTheyHaveCounted(t *testing.T) {
	t.Parallel()
	for operator, tt := range map[corev1.ScopeSelectorOperator]struct {
		refused int
		left    int64
	}{corev1.ScopeSelectorOpIn: {1, 0}, corev1.ScopeSelectorOpNotIn: {0, 1}} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, asking(1, 1))...)
		w.PriorityClasses = snapshot.PriorityClasses{"std": {Default: true}}
		one := snapshot.Quota{Name: "q", Limits: []snapshot.QuotaLimit{of("pods", 1, 1)}}
		one.Scopes = []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: []string{"std"}}}
		w.Quotas = snapshot.Quotas{"app": {one}}
		if got := w.simulate(); got.Refused != exactly(tt.refused) {
			t.Errorf("%s: %v are refused", operator, got.Refused)
		}
		if left := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")).quotas.base[0]; left != tt.left {
			t.Errorf("%s: %d are left", operator, left)
		}
	}
}

// A quota that was lowered refuses what replaces d, until a pod is preempted that nothing replaces.
func TestQuotas_whatPreemptionGivesBackIsUsed(t *testing.T) {
	t.Parallel()
	bare := func(p *snapshot.Pod) { p.Controller = nil }
	elsewhere := func(p *snapshot.Pod) { p.Namespace = "other" }
	for name, tt := range map[string]struct {
		waiting bool
		owner   podOption
	}{"of a bare pod": {}, "of a bare pod that was Pending": {waiting: true}, "to a StatefulSet": {owner: ownedBy("StatefulSet", "d")}} {
		w := newWorld(having(node("n1"), 20, 20), having(node("n2"), 8, 8), having(node("n3"), 4, 4))
		d, b := pod("d-0", "n1", ownedBy("ReplicaSet", "d"), asking(4, 4)), pod("b", "n2", bare, asking(5, 5))
		if tt.owner != nil {
			tt.owner(d)
		}
		if tt.waiting {
			b.Node, w.Waiting = "", []*snapshot.Pod{b}
		} else {
			w = w.run(b)
		}
		w = w.run(d).run(replicas("high", "n1", 1, asking(8, 8), priority(10), elsewhere)...)
		w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 1, 2))}}
		evicted := w.evictAll("n1")
		evicted[0].Ordered = tt.owner != nil
		if tt.waiting {
			evicted[1].After = 30
		}
		if got := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1).of(t, "d"); got.Placed != exactly(1) {
			t.Errorf("%s: d is refused %v, and placed %v", name, got.Refused, got.Placed)
		}
	}
}
