// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestSimulate_createsPodsOfAnOrderedStatefulSetOneAfterTheOther(t *testing.T) {
	t.Parallel()
	set := func(demand podOption) world {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2))
		for i := range 3 {
			w = w.run(pod(fmt.Sprintf("db-%d", i), "n1", ownedBy("StatefulSet", "db"), demand))
		}
		return w
	}
	simulate := func(w world, ordered bool) WorkloadOutcome {
		evicted := w.evictAll("n1")
		for i := range evicted {
			evicted[i].Ordered = ordered
		}
		return New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1).of(t, "db")
	}
	if got := simulate(set(asking(9, 1)), true); got.Pending != exactly(1) || got.NotCreated != exactly(2) {
		t.Errorf("none fits: %+v", got)
	}
	if got := simulate(set(asking(1, 1)), true); got.Placed != exactly(2) || got.Pending != exactly(1) || got.NotCreated != exactly(0) {
		t.Errorf("two fit: %+v", got)
	}
	if got := simulate(set(asking(9, 1)), false); got.Pending != exactly(3) || got.NotCreated != exactly(0) {
		t.Errorf("in parallel: %+v", got)
	}
}

func unready(p *snapshot.Pod) { p.Ready = false }

func gated(p *snapshot.Pod) { p.Gated = true }

// ordered evicts all pods of a node, of StatefulSets that start their pods one after the other.
func (w world) ordered(node string) []Eviction {
	evicted := w.evictAll(node)
	for i := range evicted {
		evicted[i].Ordered = true
	}
	return evicted
}

func TestSimulate_anOrderedStatefulSetWaitsForPodsThatAreNotReady(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// first is db-0, of which the evicted pods are db-1 and db-3.
		first  *snapshot.Pod
		placed int
		behind string
	}{
		"one that is ready":                  {first: pod("db-0", "n2", asking(1, 1)), placed: 2},
		"one that is not ready":              {first: pod("db-0", "n2", asking(1, 1), unready), behind: "db-0"},
		"one that is not ready in between":   {first: pod("db-2", "n2", asking(1, 1), unready), placed: 1, behind: "db-2"},
		"one that is not ready, behind them": {first: pod("db-4", "n2", asking(1, 1), unready), placed: 2},
		"one that has completed":             {first: pod("db-0", "n2", asking(1, 1), completed, unready), placed: 2},
		"one that is terminating":            {first: pod("db-0", "n2", asking(1, 1), terminating), placed: 2},
		"one that waits for a node":          {first: pod("db-0", "", asking(1, 1), unready), placed: 2},
		"one behind a scheduling gate":       {first: pod("db-0", "", asking(1, 1), unready, gated), behind: "db-0"},
		"one of another StatefulSet":         {first: pod("other-0", "n2", asking(1, 1), unready, ownedBy("StatefulSet", "other")), placed: 2},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).
			run(pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)), pod("db-3", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
		if tt.first.Controller.Kind == "ReplicaSet" {
			ownedBy("StatefulSet", "db")(tt.first)
		}
		if tt.first.Node == "" {
			w.Waiting = []*snapshot.Pod{tt.first}
		} else {
			w = w.run(tt.first)
		}
		out := New(w.Snapshot, gone("n1"), false).Simulate(w.ordered("n1"), Orders, 1)
		if got := out.of(t, "db"); got.Placed != exactly(tt.placed) || got.NotCreated != exactly(2-tt.placed) {
			t.Errorf("behind %s: placed %v, not created %v, want %d placed", name, got.Placed, got.NotCreated, tt.placed)
		}
		behind := ""
		if p := out.Of(w.named(t, "db-3")).Behind; p != nil {
			behind = p.Name
		}
		if behind != tt.behind {
			t.Errorf("behind %s: db-3 waits for %q", name, behind)
		}
	}
}

// Until it is evicted, a pod that is not ready holds up those after it.
func TestSimulate_anOrderedStatefulSetWaitsForAPodThatIsEvictedLater(t *testing.T) {
	t.Parallel()
	for _, ready := range []bool{true, false} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(
			pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
		evicted := w.ordered("n1")
		evicted[0].After, evicted[0].Pod.Ready = 300, ready
		s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
		s.run(1, 0)
		if second := s.replacements[1]; second.node < 0 || (second.since == 0) != ready {
			t.Errorf("db-0 is ready %t: db-1 is created after %ds, on node %d", ready, second.since, second.node)
		}
	}
}

func TestSimulate_someOrdersCreatePodsInParallelWhereThePolicyIsNotKnown(t *testing.T) {
	t.Parallel()
	for unknown, want := range map[bool]Range{false: exactly(0), true: {0, 2}} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
			pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(9, 9)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)),
			pod("db-2", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
		evicted := w.ordered("n1")
		for i := range evicted {
			evicted[i].PolicyUnknown = unknown
		}
		// Two orders try both.
		for _, orders := range []int{2, Orders} {
			out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, orders, 1)
			if got := out.of(t, "db"); got.Placed != want || got.PolicyUnknown != unknown || (got.Fate() == DependsOnOrder) != unknown {
				t.Errorf("%d orders, not known %t: placed %v, %s", orders, unknown, got.Placed, got.Fate())
			}
			if out.Of(evicted[0].Pod).PolicyUnknown || out.Of(evicted[2].Pod).PolicyUnknown != unknown {
				t.Errorf("%d orders, not known %t: that of db-0 counts %t", orders, unknown, out.Of(evicted[0].Pod).PolicyUnknown)
			}
		}
	}
}

// A pod that was created before the one before it was evicted looks for a node further on.
func TestSimulate_anOrderedStatefulSetKeepsAPodThatIsPending(t *testing.T) {
	t.Parallel()
	full := other("full", "n2", asking(2, 2))
	w := newWorld(having(node("n1"), 20, 20), having(node("n2"), 2, 2)).run(full,
		pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(9, 9)), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(1, 1)))
	evicted := append(w.ordered("n1"), Eviction{Pod: full, After: 30})
	evicted[0].After = 30
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "db"); got.Placed != exactly(1) || got.Pending != exactly(1) {
		t.Errorf("%+v", got)
	}
}
