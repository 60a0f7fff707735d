// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestExpected_podsCountOnTheirNodeAlone: two pods of a priority that preempts are evicted, and each node has room
// for one of them once its victim is gone. Until a pod is bound, only those that are tried on its node know of it.
func TestExpected_podsCountOnTheirNodeAlone(t *testing.T) {
	t.Parallel()
	term := func(key string) []snapshot.PodTerm {
		return []snapshot.PodTerm{{TopologyKey: key, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}
	}
	const host, zone = "kubernetes.io/hostname", "zone"
	placed := func(n *snapshot.Node) *snapshot.Node { return labelled(labelled(n, host, n.Name), zone, "z") }
	for name, tt := range map[string]struct {
		rules *snapshot.PodRules
		// cores is what each of the two nodes has, and its victim; a pod needs two of them.
		cores               int64
		preempted, stranded Range
	}{
		"without rules both preempt, and both run":                         {cores: 2, preempted: exactly(2), stranded: exactly(0)},
		"pods that follow each other preempt twice, and one stays Pending": {&snapshot.PodRules{Affinity: term(host)}, 2, Range{1, 2}, exactly(1)},
		"pods that keep apart in a zone preempt twice as well":             {&snapshot.PodRules{AntiAffinity: term(zone)}, 2, Range{1, 2}, exactly(1)},
		"pods that keep apart on a node both run":                          {&snapshot.PodRules{AntiAffinity: term(host)}, 2, exactly(2), exactly(0)},
		"a pod that is expected on a node keeps others from it":            {&snapshot.PodRules{AntiAffinity: term(host)}, 5, exactly(2), exactly(0)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(having(node("n1"), 9, 9), placed(having(node("n2"), tt.cores, 9)), placed(having(node("n3"), tt.cores, 9))).
				run(replicas("web", "n1", 2, asking(2, 1), priority(10), labelledAs("app", "web"), ruled(tt.rules))...).
				run(replicas("v2", "n2", 1, asking(tt.cores, 1), labelledAs("app", "victim"))...).
				run(replicas("v3", "n3", 1, asking(tt.cores, 1), labelledAs("app", "victim"))...)
			out := w.simulate()
			if web := out.of(t, "web"); out.Preempted != tt.preempted || web.Pending != tt.stranded {
				t.Errorf("preempted %v, want %v, Pending %v, want %v", out.Preempted, tt.preempted, web.Pending, tt.stranded)
			}
		})
	}
}

// TestExpected_podsKeepOthersFromTheirNode: a pod that could not preempt itself finds room where another one has
// preempted, and the two must not share a node.
func TestExpected_podsKeepOthersFromTheirNode(t *testing.T) {
	t.Parallel()
	apart := &snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "side"}), OwnNamespace: true}}}
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 9)).
		run(replicas("web", "n1", 1, asking(2, 1), priority(10), ruled(apart))...).
		run(replicas("side", "n1", 1, asking(1, 1), priority(10), patient, labelledAs("app", "side"))...).
		run(replicas("victim", "n2", 1, asking(4, 1), labelledAs("app", "victim"))...)
	out := w.simulate()
	if web, side := out.of(t, "web"), out.of(t, "side"); web.Pending != exactly(0) || side.Pending != exactly(1) {
		t.Errorf("Pending: web %v, side %v", web.Pending, side.Pending)
	}
}
