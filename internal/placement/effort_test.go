// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// zoneEvicted is a cluster of three zones of which one is tainted. On each node runs a pod of web, which
// spreads over the zones, and pods of a lower priority, which no preemption by web helps to level the spread.
func zoneEvicted(nodes int) *simulation {
	w := newWorld()
	web := pod("web", "", asking(1, 1), priority(1000), ownedBy("ReplicaSet", "web"), ruled(&snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
		MaxSkew: 1, MinDomains: 1, TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), HonorAffinity: true,
	}}}))
	low := pod("low", "", asking(1, 1), ownedBy("ReplicaSet", "low"), labelledAs("app", "low"))
	var evicted []Eviction
	change := Scenario{Taints: map[string][]corev1.Taint{}}
	for i, n := range many(nodes, "n", func(name string) *snapshot.Node { return having(node(name), 32, 64) }) {
		n.Allocatable.Pods = 110
		w.Nodes[n.Name] = labelled(n, "zone", string(rune('a'+i%3)))
		p := *web
		p.Name, p.Node = "web-"+n.Name, n.Name
		w = w.run(&p)
		for range 9 {
			q := *low
			q.Node = n.Name
			w = w.run(&q)
		}
		if i%3 == 0 {
			change.Taints[n.Name] = taintsOf("gone:NoExecute")
			evicted = append(evicted, Eviction{Pod: &p, Scheduling: p.Scheduling})
		}
	}
	return newSimulation(New(w.Snapshot, change, false), evicted)
}

// Twice the nodes are twice the work: what no node takes and no preemption helps is not tried again before a
// pod has moved.
func TestSimulate_workGrowsWithTheNodesAndNotWithTheirSquare(t *testing.T) {
	t.Parallel()
	few, many := zoneEvicted(60), zoneEvicted(480)
	if out := few.try(1, 1); out.Pending != exactly(20) || out.Cut {
		t.Fatalf("pending %v, cut %t", out.Pending, out.Cut)
	}
	if out := many.try(1, 1); out.Pending != exactly(160) || out.Cut {
		t.Fatalf("pending %v, cut %t", out.Pending, out.Cut)
	}
	if many.work > 12*few.work {
		t.Errorf("60 nodes are asked %d times, 480 nodes %d times", few.work, many.work)
	}
}

// crowdedOrders has pods that find a place by preemption alone.
func crowdedOrders() *simulation {
	w := newWorld(having(node("n1"), 99, 99))
	w = w.run(replicas("web", "n1", 8, asking(4, 4), priority(10))...)
	for _, n := range many(10, "m", func(name string) *snapshot.Node { return having(node(name), 4, 4) }) {
		w.Nodes[n.Name] = n
		w = w.run(other("low-"+n.Name, n.Name, asking(4, 4)))
	}
	return newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
}

func TestSimulate_endsAtItsLimit(t *testing.T) {
	t.Parallel()
	whole := crowdedOrders()
	if out := whole.try(1, 1); out.Cut || out.Preempted != exactly(8) {
		t.Fatalf("cut %t, preempted %v", out.Cut, out.Preempted)
	}
	for name, tt := range map[string]struct {
		limit, orders int
		cut           bool
	}{
		"after all orders":            {limit: 99 * whole.work, orders: 5},
		"after the first order":       {limit: whole.work + 1, orders: 1},
		"within the third order":      {limit: whole.work * 5 / 2, orders: 2},
		"within the first order":      {limit: whole.work / 2, orders: 1, cut: true},
		"before the first preemption": {limit: 1, orders: 1, cut: true},
	} {
		s := crowdedOrders()
		s.limit = tt.limit
		out := s.try(5, 1)
		if out.Orders != tt.orders || out.Cut != tt.cut {
			t.Errorf("%s: %d orders are tried, cut %t", name, out.Orders, out.Cut)
		}
		if got := out.Placed.Max + out.Pending.Max; got < 8 || s.work > tt.limit+2*whole.work {
			t.Errorf("%s: %d replacements have an outcome, with work %d of %d", name, got, s.work, tt.limit)
		}
	}
}

// A preview of several changes is as sure as the one of which the fewest orders were tried.
func TestJoin_hasTheFewestOrders(t *testing.T) {
	t.Parallel()
	out := Join(&Outcome{}, &Outcome{Orders: Orders, Wanted: Orders}, &Outcome{Orders: 1, Wanted: Orders, Cut: true})
	if out.Orders != 1 || out.Wanted != Orders || !out.Cut {
		t.Errorf("%d orders, cut %t", out.Orders, out.Cut)
	}
}

// Work is counted in nodes that are asked: the tainted one is as well. A preemption asks the other node again, takes
// one pod from it for 8 and asks twice whether there is room, and the victim's replacement asks both nodes, once more when the
// victim has terminated, for which both pods count.
func TestSimulate_countsItsWork(t *testing.T) {
	t.Parallel()
	wide := newWorld(having(node("n1"), 9, 9)).run(replicas("web", "n1", 1, asking(1, 1))...)
	for _, n := range many(150, "m", func(name string) *snapshot.Node { return having(node(name), 9, 9) }) {
		wide.Nodes[n.Name] = n
	}
	apart := &snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "x"}), OwnNamespace: true}}}
	small := func(options ...podOption) world {
		return newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, append(options, asking(1, 1))...)...)
	}
	for name, tt := range map[string]struct {
		world       world
		limit, want int
	}{
		"a search ends at a hundred nodes":             {wide, workLimit, 101},
		"a search ends at the first node at the limit": {wide, 0, 1},
		"a search of two nodes":                        {small(), workLimit, 2},
		"rules count the pods that are tried again":    {small(ruled(apart)), workLimit, 3},
		"a preemption counts the pods that are taken":  {crowded(10), workLimit, 19},
	} {
		s := newSimulation(New(tt.world.Snapshot, gone("n1"), false), tt.world.evictAll("n1"))
		s.limit = tt.limit
		if s.run(1, 0); s.work != tt.want {
			t.Errorf("%s: work %d, want %d", name, s.work, tt.want)
		}
	}
}

// The baseline is what happens without the change, which takes as long.
func TestSimulate_countsTheWorkOfItsBaseline(t *testing.T) {
	t.Parallel()
	w := crowded(10)
	w.Waiting = []*snapshot.Pod{other("waits", "", asking(3, 3), priority(9))}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	s.run(1, 0)
	before := s.work
	if s.without(1, 0); s.baseline.simulation == nil || s.work <= before || s.work != s.baseline.work {
		t.Errorf("work %d before, %d with the baseline", before, s.work)
	}
}
