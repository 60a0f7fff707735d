// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "testing"

// inOneWave is a simulation of pods that are all created before the first one of their moment is tried.
func inOneWave(f *Finder, evicted []Eviction) *simulation {
	s := newSimulation(f, evicted)
	s.uneven = false
	return s
}

// A pod of a lower priority may have the room by the time that one of a higher priority is created, which preempts
// no other.
func TestWaves_aPodOfALowerPriorityMayComeFirst(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 9)).
			run(replicas("high", "n1", 1, asking(1, 1), priority(9), patient)...).run(replicas("low", "n1", 1, asking(1, 1))...)
		out := w.outcome(w.evictAll("n1"), seed)
		if high, low := out.of(t, "high").Pending, out.of(t, "low").Pending; high != (Range{0, 1}) || low != (Range{0, 1}) || out.Pending != exactly(1) {
			t.Errorf("seed %d: %v of high and %v of low are Pending, %v of all", seed, high, low, out.Pending)
		}
	}
}

// A pod that preempts it chooses what costs least: that may be another node than the one which had room before.
func TestWaves_chooseOtherVictims(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
		run(replicas("high", "n1", 1, asking(1, 1), priority(10))...).run(replicas("low", "n1", 1, asking(1, 1), labelledAs("app", "low"))...).
		run(replicas("other", "n2", 1, asking(1, 1), labelledAs("app", "other"))...).protect("low", 0)
	if out := w.outcome(w.evictAll("n1"), 1); out.Preempted != (Range{0, 1}) || out.of(t, "high").Missing != exactly(0) {
		t.Errorf("preempted %v, %+v", out.Preempted, out.Workloads)
	}
}

// The nodes of a change are not all tainted in the same moment: one pod of each workload may come first.
func TestWaves_comeFromNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n0"), 9, 9), having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
		run(replicas("high", "n0", 1, asking(1, 1), priority(9), patient)...).run(replicas("low", "n0", 1, asking(1, 1))...).
		run(pod("high-1", "n1", asking(1, 1), priority(9), patient, ownedBy("ReplicaSet", "high")), pod("low-1", "n1", asking(1, 1), ownedBy("ReplicaSet", "low")))
	change := gone("n0")
	change.Taints["n1"] = change.Taints["n0"]
	s := newSimulation(New(w.Snapshot, change, false), append(w.evictAll("n0"), w.evictAll("n1")...))
	mixed := 0
	for order := range Orders {
		s.run(1, order)
		if on := s.placed(); (on["high-0"] == "n2") != (on["high-1"] == "n2") {
			mixed++
		}
	}
	if mixed == 0 {
		t.Error("in no order one pod of each workload has the room")
	}
}

func TestWaves_whoNeedsThem(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options []podOption
		want    bool
	}{
		"pods of one priority":     {[]podOption{asking(1, 1)}, false},
		"pods of other priorities": {[]podOption{asking(1, 1), priority(1)}, true},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 2, asking(1, 1))...).run(replicas("other", "n1", 1, tt.options...)...)
		if got := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")).uneven; got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
