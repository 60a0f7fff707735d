// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestEarly_pendingPodsArePlacedBeforePodsAreEvicted: two pods of late run on n2, one on n1, and one is Pending. Hosts keep it
// from n2 while n1 is one, and zones once the pod on n1 is evicted: where taints count, n1 is no host from the taint on, so that it
// may take the room on n2 before the eviction, which web then lacks.
func TestEarly_pendingPodsArePlacedBeforePodsAreEvicted(t *testing.T) {
	t.Parallel()
	for honor, missing := range map[bool]Range{true: {0, 1}, false: exactly(0)} {
		spread := func(key string, skew int32, honor bool) snapshot.SpreadConstraint {
			return snapshot.SpreadConstraint{MaxSkew: skew, MinDomains: 1, TopologyKey: key, Selector: labels.SelectorFromSet(labels.Set{"app": "late"}), HonorTaints: honor}
		}
		late := []podOption{asking(1, 1), labelledAs("app", "late"), ruled(&snapshot.PodRules{Spread: []snapshot.SpreadConstraint{spread("host", 1, honor), spread("zone", 2, false)}})}
		in := func(n *snapshot.Node, zone string) *snapshot.Node {
			return labelled(labelled(n, "zone", zone), "host", n.Name)
		}
		w := newWorld(in(having(node("n1"), 4, 9), "a"), in(having(node("n2"), 3, 9), "b")).
			run(replicas("late", "n1", 1, late...)...).run(replicas("late", "n2", 2, late...)...).
			run(replicas("web", "n1", 1, asking(1, 1))...).
			waiting("late-2", 1, late...)
		if out := w.simulate(); out.of(t, "web").Missing != missing || out.of(t, "late").Missing != exactly(1) {
			t.Errorf("honoring taints %t: %+v", honor, out.Workloads)
		}
	}
}
