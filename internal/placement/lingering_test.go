// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// again evicts the pods of n1, whose replacements tolerate the taint, as those with tolerations of an admission policy do.
func (w world) again() *Outcome {
	evicted := w.evictAll("n1")
	for i := range evicted {
		tolerates := *evicted[i].Scheduling
		tolerates.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		evicted[i].Scheduling = &tolerates
		if evicted[i].Pod.Controller.StatefulSet() {
			evicted[i].Wait = 30
		}
	}
	return New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
}

// A tainted node takes a pod again whose policy tolerates the taint, once the old one has terminated. Until then the new one
// finds room elsewhere, or makes some.
func TestLingering_podsKeepTheirRoomUntilTheyHaveTerminated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// cores has n2, and low asks for all of them there; what is evicted asks for two of n1, which has two.
		low       int64
		options   []podOption
		preempted Range
	}{
		"a pod of a higher priority preempts, or not":             {2, []podOption{priority(10)}, Range{0, 1}},
		"a pod of the same priority waits":                        {2, nil, exactly(0)},
		"a pod that preempts none waits":                          {2, []podOption{priority(10), patient}, exactly(0)},
		"a pod for which preemption makes too little room waits":  {1, []podOption{priority(10)}, exactly(0)},
		"a pod whose controller waits for the old one finds room": {2, []podOption{priority(10), ownedBy("StatefulSet", "web")}, exactly(0)},
	} {
		w := newWorld(having(node("n1"), 2, 9), having(node("n2"), tt.low, 9)).
			run(replicas("low", "n2", 1, asking(tt.low, 1))...).run(replicas("web", "n1", 1, append([]podOption{asking(2, 1)}, tt.options...)...)...)
		out := w.again()
		if web := out.of(t, "web"); out.Preempted != tt.preempted || web.Missing != exactly(0) || out.Certain {
			t.Errorf("%s: preempted %v, certain %t, %+v", name, out.Preempted, out.Certain, web)
		}
	}
}

// The scheduler takes a pod of a lower priority that is terminating for a victim like any other, and deletes it once more.
func TestLingering_podsOfALowerPriorityAreVictimsThatCostNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 2, 9), having(node("n2"), 2, 9)).
		run(replicas("web", "n1", 1, asking(1, 1), priority(10))...).
		run(replicas("other", "n1", 1, asking(1, 1), func(p *snapshot.Pod) { p.Since = 1 })...).
		run(replicas("older", "n2", 1, asking(2, 1))...)
	out := w.again()
	if other := out.of(t, "other"); out.Preempted != exactly(0) || out.of(t, "web").Missing != exactly(0) || other.Missing != exactly(0) {
		t.Errorf("preempted %v: %+v", out.Preempted, out.Workloads)
	}
}

// Two pods of a priority that preempts find room where one victim was, once it has terminated. Until then, the second one evicts it
// once more, or another pod.
func TestLingering_victimsKeepTheirRoomFromOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 4, 9), having(node("n2"), 4, 9), having(node("n3"), 2, 9)).
		run(replicas("web", "n1", 2, asking(2, 1), priority(10))...).
		run(replicas("large", "n2", 1, asking(4, 1))...).run(replicas("low", "n3", 1, asking(2, 1), priority(1))...)
	if out := w.simulate(); out.Preempted != exactly(1) || out.of(t, "web").Missing != exactly(0) {
		t.Errorf("the other pod has a higher priority: preempted %v, %+v", out.Preempted, out.Workloads)
	}
	w.named(t, "low-0").Demand.Priority = 0
	if out := w.simulate(); out.Preempted != (Range{1, 2}) || out.of(t, "web").Missing != exactly(0) {
		t.Errorf("the other pod has the same priority: preempted %v, %+v", out.Preempted, out.Workloads)
	}
}

// A StatefulSet creates the next pod once the old one is gone: neither keeps the new one from its zone, nor takes its room.
func TestLingering_noPodIsInTheWayOfItsOwnSuccessor(t *testing.T) {
	t.Parallel()
	apart := &snapshot.PodRules{AntiAffinity: toApp("zone", "db")}
	db := []podOption{asking(2, 1), priority(5), ownedBy("StatefulSet", "db"), labelledAs("app", "db"), ruled(apart)}
	in := func(n *snapshot.Node, zone string) *snapshot.Node { return labelled(n, "zone", zone) }
	victim := newWorld(having(node("n1"), 9, 9), in(having(node("n2"), 2, 9), "a"), in(having(node("n3"), 2, 9), "a"), in(having(node("n4"), 2, 9), "b")).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), requiring(expression("zone", "In", "a")))...).
		run(replicas("db", "n2", 1, db...)...).run(replicas("low", "n4", 1, asking(2, 1))...)
	victim.Nodes["n3"].Taints = taintsOf("web:NoSchedule")
	tolerant := *victim.named(t, "db-0").Scheduling
	tolerant.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	victim.named(t, "db-0").Scheduling = &tolerant
	if out := victim.simulate(); out.Preempted != exactly(1) || out.of(t, "db").Missing != exactly(0) {
		t.Errorf("a victim: preempted %v, %+v", out.Preempted, out.Workloads)
	}
	gone := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9), having(node("n3"), 2, 9), having(node("n4"), 1, 9)).
		run(replicas("web", "n1", 1, asking(1, 1))...).
		run(replicas("db", "n2", 1, append(db, terminating)...)...).run(replicas("low", "n3", 1, asking(2, 1))...)
	if out := gone.outcome(append(gone.evictAll("n1"), gone.evictAll("n2")...), 1); out.Preempted != exactly(0) || out.of(t, "web").Missing != exactly(0) {
		t.Errorf("one that was terminating before: preempted %v, %+v", out.Preempted, out.Workloads)
	}
}

// A terminating pod on another node is no reason to try all orders.
func TestLingering_aTerminatingPodElsewhereLeavesTheProof(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 1, asking(1, 1))...).
		run(replicas("leaves", "n2", 1, asking(1, 1), terminating)...)
	if out := w.simulate(); !out.Certain {
		t.Errorf("nothing is proved: %+v", out.Workloads)
	}
}
