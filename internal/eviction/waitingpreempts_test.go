// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A Pending pod keeps apart from all pods of batch in its zone: two run there, and none of the nodes takes it once one of them is
// preempted. Once the taint has evicted the other one, the next is. Nothing comes for an evicted bare pod.
func TestSimulate_aPendingPodPreemptsOnceOtherPodsAreEvicted(t *testing.T) {
	t.Parallel()
	batch := func(p *snapshot.Pod) { p.Labels = labels.Set{"app": "batch"} }
	apart := func(p *snapshot.Pod) {
		p.Rules = &snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "batch"}), OwnNamespace: true}}}
	}
	for name, tt := range map[string]struct {
		waits podOption
		want  int
	}{
		"of a higher priority":           {priority(10), 1},
		"of the same priority":           {priority(0), 0},
		"that preempts no pod":           {func(p *snapshot.Pod) { p.Demand.Priority, p.Demand.Patient = 10, true }, 0},
		"that is not to be placed yet":   {func(p *snapshot.Pod) { p.Demand.Priority, p.Gated = 10, true }, 0},
		"whose deletion is on its way":   {func(p *snapshot.Pod) { p.Demand.Priority, p.Terminating = 10, true }, 0},
		"that must be beside other pods": {func(p *snapshot.Pod) { p.Demand.Priority = 10; p.Rules.Affinity = p.Rules.AntiAffinity }, 0},
	} {
		w := newWorld(having(node("n1"), 4, 4), having(node("n2"), 4, 4)).
			run(pod("alone", "n1", asking(1, 1), batch, bare), other("calm", "n2", asking(1, 1), batch))
		for _, n := range w.Nodes {
			n.Labels["zone"] = "z"
		}
		w = waits(w, other("waits", "", ownedBy("ReplicaSet", "waits"), asking(1, 1), apart, tt.waits))
		if out := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome(); out.Preempted != number(tt.want) {
			t.Errorf("a Pending pod %s: %v pods are preempted, want %d", name, out.Preempted, tt.want)
		}
		if out := Evaluate(w.Snapshot, tainting("n1", "a:NoSchedule"), ComparisonOff).Outcome(); out.Orders > 0 {
			t.Errorf("a Pending pod %s: %d orders are tried where nothing is evicted", name, out.Orders)
		}
	}
}
