// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// waiting adds pods of a ReplicaSet that are Pending before the change.
func (w world) waiting(name string, n int, options ...podOption) world {
	w.Waiting = append(w.Waiting, replicas(name, "", n, options...)...)
	return w
}

func TestBaseline_doesNotCountWhatPendingPodsPreemptAnyway(t *testing.T) {
	t.Parallel()
	// On n1 runs what the change evicts; small pods run on the other nodes, in the way of pods of 4 cores.
	small := func(on ...string) world {
		w := newWorld(having(node("n1"), 4, 4))
		for i, name := range on {
			w.Nodes[name] = having(node(name), 4, 4)
			w = w.run(replicas(fmt.Sprintf("small-%d", i), name, 1, asking(2, 2))...)
		}
		return w
	}
	high := []podOption{asking(4, 4), priority(10)}
	for name, tt := range map[string]struct {
		world world
		// preempted counts, and pending is that of the evicted pods and of counted victims.
		preempted, pending Range
	}{
		"a Pending pod preempts without the change as well": {
			world:   small("n2").run(replicas("web", "n1", 1, asking(4, 4), priority(10), patient)...).waiting("high", 1, high...),
			pending: exactly(1),
		},
		"chance decides whether a pod is preempted": {
			// Two small pods that wait may take room on n2 before the one of 4 cores preempts there, or not.
			world: small("n2").run(replicas("web", "n1", 1, asking(4, 4), priority(10), patient)...).waiting("high", 1, asking(3, 3), priority(10)).
				waiting("also", 1, asking(2, 2), priority(10)),
			pending: exactly(1),
		},
		"chance decides which pod is preempted": {
			world:   small("n2", "n3", "n4").run(replicas("web", "n1", 1, asking(4, 4), priority(10), patient)...).waiting("high", 1, high...),
			pending: exactly(1),
		},
		"an evicted pod preempts what a Pending one preempts without the change": {
			world:   small("n2").run(replicas("web", "n1", 1, high...)...).waiting("high", 1, high...),
			pending: Range{0, 1},
		},
		"an evicted pod preempts": {
			world: small("n2").run(replicas("web", "n1", 1, high...)...), preempted: exactly(1), pending: exactly(1),
		},
		"an evicted pod preempts beside a Pending one": {
			world: small("n2", "n3").run(replicas("web", "n1", 1, high...)...).waiting("high", 1, high...), preempted: exactly(1), pending: exactly(2),
		},
		"a Pending pod preempts another pod than without the change": {
			// It preempts the pod of the lowest priority, on the node that the change taints.
			world:     small("n2").run(replicas("web", "n1", 1, asking(2, 2), priority(-1))...).waiting("high", 1, high...),
			preempted: exactly(1), pending: exactly(2),
		},
		"a Pending pod finds room without the change": {
			world: small("n2").waiting("high", 1, high...).run(other("web", "n1", asking(0, 0))), preempted: exactly(1), pending: exactly(1),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := tt.world.simulate()
			if out.Preempted != tt.preempted || out.Pending != tt.pending || (len(out.Victims) > 0) != (tt.preempted.Max > 0) {
				t.Errorf("preempted %v, pending %v, victims %v", out.Preempted, out.Pending, out.victims())
			}
		})
	}
}

// A victim that runs again without the change, and not after it, is Pending because of the change.
func TestBaseline_countsVictimsThatOnlyTheChangeLeavesPending(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 2, 2), having(node("n2"), 4, 4)).
		run(other("web", "n1", asking(0, 0))).run(replicas("small", "n2", 1, asking(2, 2))...).waiting("high", 1, asking(4, 4), priority(10))
	out := w.simulate()
	if small := out.of(t, "small"); out.Preempted != exactly(0) || small.Pending != exactly(1) {
		t.Errorf("preempted %v, %+v", out.Preempted, small)
	}
}

// A preempted pod preempts another one in its turn, without the change as well.
func TestBaseline_followsPreemptionsInTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).
		run(other("web", "n1", asking(1, 1))).
		run(replicas("middle", "n2", 1, asking(4, 4), priority(5))...).run(replicas("low", "n3", 1, asking(4, 4), priority(1), labelledAs("app", "low"))...).
		protect("low", 0).waiting("high", 1, asking(4, 4), priority(10))
	if out := w.simulate(); out.Preempted != exactly(0) || len(out.Victims) != 0 {
		t.Errorf("preempted %v, victims %v", out.Preempted, out.victims())
	}
}

// A pod of a DaemonSet that the change lets onto a node is there because of the change.
func TestBaseline_countsWhatArrivingPodsPreempt(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 4, 4)).run(replicas("small", "n2", 1, asking(2, 2))...).run(other("web", "n1", asking(1, 1)))
	logs := pod("logs", "n2", ownedBy("DaemonSet", "logs"), pinned("n2"), asking(3, 3), priority(10))
	evicted := append(w.evictAll("n1"), Eviction{Pod: logs, Scheduling: logs.Scheduling, Arrives: true})
	if out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1); out.Preempted != exactly(1) {
		t.Errorf("preempted %v", out.Preempted)
	}
}

func TestBaseline_isTriedOnlyBesidePendingPodsThatMayPreempt(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pods []*snapshot.Pod
		want bool
	}{
		"no pod is Pending":            {},
		"a Pending pod never preempts": {pods: replicas("high", "", 1, asking(4, 4), priority(20), patient)},
		"a Pending pod preempts":       {pods: replicas("high", "", 1, asking(4, 4), priority(20)), want: true},
	} {
		w := crowded(10)
		w.Waiting = tt.pods
		s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
		s.try(Orders, 1)
		if (s.baseline.simulation != nil) != tt.want {
			t.Errorf("%s: a baseline was tried: %t", name, !tt.want)
		}
	}
}
