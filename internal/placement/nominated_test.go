// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func nominated(node string) podOption { return func(p *snapshot.Pod) { p.Nominated = node } }

// placed returns where an order has put pods, "" for nowhere.
func (s *simulation) placed() map[string]string {
	out := map[string]string{}
	for _, r := range s.replacements {
		if out[r.pod.Name] = ""; r.node >= 0 {
			out[r.pod.Name] = s.places[r.node].node.Name
		}
	}
	return out
}

func TestNominated_podsHaveTheRoomOfTerminatingOnes(t *testing.T) {
	t.Parallel()
	// A pod of priority 10 has preempted one on n2, which terminates. The change evicts web-0 from n1.
	for name, tt := range map[string]struct {
		web   int32
		nodes []*snapshot.Node
		want  map[string]string
	}{
		"another one of the same priority has not":  {web: 10, want: map[string]string{"high-0": "n2", "web-0": ""}},
		"one of a higher priority takes it":         {web: 20, want: map[string]string{"high-0": "", "web-0": "n2"}},
		"what is free beside it is free":            {web: 10, nodes: []*snapshot.Node{having(node("n2"), 8, 8)}, want: map[string]string{"high-0": "n2", "web-0": "n2"}},
		"not on a node that has a taint after all":  {web: 10, nodes: []*snapshot.Node{having(node("n2", "a:NoSchedule"), 4, 4)}, want: map[string]string{"high-0": "", "web-0": ""}},
		"not on a node that is too small after all": {web: 10, nodes: []*snapshot.Node{having(node("n2"), 3, 3)}, want: map[string]string{"high-0": "", "web-0": ""}},
		"they preempt no pod of a lower priority":   {web: 0, nodes: []*snapshot.Node{having(node("n3"), 4, 4)}, want: map[string]string{"high-0": "n2", "web-0": ""}},
		"not beside what another node has free":     {web: 10, nodes: []*snapshot.Node{having(node("n4"), 4, 4)}, want: map[string]string{"high-0": "n2", "web-0": "n4"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(append([]*snapshot.Node{having(node("n1"), 4, 4), having(node("n2"), 4, 4)}, tt.nodes...)...).
				run(replicas("web", "n1", 1, asking(4, 4), priority(tt.web))...).
				run(replicas("victim", "n2", 1, asking(4, 4), terminating)...).
				run(replicas("low", "n3", 1, asking(4, 4))...).
				waiting("high", 1, asking(4, 4), priority(10), nominated("n2"))
			// In some orders, a nominated pod is bound later where rules relate any pods.
			for _, related := range []bool{false, true} {
				if related {
					w.run(other("guard", "n2", ruled(&snapshot.PodRules{AntiAffinity: onHostTo("none")})))
				}
				s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
				for order := range Orders {
					s.run(1, order)
					if diff := cmp.Diff(tt.want, s.placed()); diff != "" {
						t.Fatalf("related %t, order %d: %s", related, order, diff)
					}
				}
			}
		})
	}
}

// Pods of a lower priority get a nominated node only where there is still room.
func TestSimulate_nominatedNodeOfTheHighestPriority(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(replicas("web", "n1", 1, asking(1, 1))...)
	for _, n := range []int32{1, 3, 2} {
		p := other(fmt.Sprintf("p%d", n), "", asking(2, 2), priority(n), patient, ownedBy("ReplicaSet", fmt.Sprintf("p%d", n)))
		p.Nominated = "n2"
		w.Waiting = append(w.Waiting, p)
	}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	s.run(1, 0)
	for _, r := range s.replacements {
		if (r.node >= 0) != (r.pod.Name == "p3") {
			t.Errorf("%s is placed: %t", r.pod.Name, r.node >= 0)
		}
	}
}

// The pod before it has its room from the start, and its StatefulSet creates it with all others.
func TestNominated_theNextPodOfAStatefulSetIsPlacedOnce(t *testing.T) {
	t.Parallel()
	db := ownedBy("StatefulSet", "db")
	w := newWorld(having(node("n1"), 4, 4), having(node("n2"), 2, 2), having(node("n3"), 4, 4)).
		run(other("db-1", "n1", asking(2, 2), db)).
		run(replicas("victim", "n2", 1, asking(2, 2), terminating)...).
		run(replicas("web", "n1", 1, asking(2, 2))...)
	first := other("db-0", "", asking(2, 2), db, priority(10))
	first.Nominated = "n2"
	w.Waiting = append(w.Waiting, first)
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.ordered("n1"))
	want := map[string]string{"db-0": "n2", "db-1": "n3", "web-0": "n3"}
	for order := range Orders {
		s.run(1, order)
		if diff := cmp.Diff(want, s.placed()); diff != "" {
			t.Fatalf("order %d: %s", order, diff)
		}
	}
}
