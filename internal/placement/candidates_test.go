// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestCheapest_namesAllThatCostTheSame, so that chance decides.
func TestCheapest_namesAllThatCostTheSame(t *testing.T) {
	t.Parallel()
	of := func(p int32, violations int) candidate {
		return candidate{victims: []occupant{{pod: pod("v", "n1", asking(1, 1), priority(p))}}, violations: violations}
	}
	for name, tt := range map[string]struct {
		candidates []candidate
		want       []int
	}{
		"one":                    {[]candidate{of(1, 0)}, []int{0}},
		"two that cost the same": {[]candidate{of(1, 0), of(1, 0)}, []int{0, 1}},
		"the second costs less":  {[]candidate{of(2, 0), of(1, 0), of(1, 0), of(1, 1)}, []int{1, 2}},
	} {
		if got := cheapest(tt.candidates); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
	placed := occupant{pod: pod("v", "n1", since(5)), replacement: &replacement{}}
	if old := (occupant{pod: placed.pod}); old.started() != 5 || placed.started() <= 1<<40 {
		t.Errorf("one that runs started at %d, one that was placed now at %d", old.started(), placed.started())
	}
}

// TestNarrowed adds the pod's own values to a selector that selects pods.
func TestNarrowed(t *testing.T) {
	t.Parallel()
	web := labels.SelectorFromSet(labels.Set{"app": "web"})
	for name, tt := range map[string]struct {
		selector labels.Selector
		keys     []string
		pod      labels.Set
		selects  []labels.Set
		not      []labels.Set
		values   string
	}{
		"no keys":                     {web, nil, labels.Set{"app": "web", "hash": "1"}, []labels.Set{{"app": "web"}}, []labels.Set{{"app": "db"}}, ""},
		"a key that the pod has":      {web, []string{"hash"}, labels.Set{"app": "web", "hash": "1"}, []labels.Set{{"app": "web", "hash": "1"}}, []labels.Set{{"app": "web", "hash": "2"}, {"app": "web"}, {"hash": "1"}}, `"hash""1"`},
		"a key that the pod lacks":    {web, []string{"hash"}, labels.Set{"app": "web"}, []labels.Set{{"app": "web", "hash": "1"}}, []labels.Set{{"app": "db"}}, ""},
		"a selector of no pod":        {labels.Nothing(), []string{"hash"}, labels.Set{"hash": "1"}, nil, []labels.Set{{"hash": "1"}, {}}, ""},
		"a selector of no pod, alone": {labels.Nothing(), nil, labels.Set{"hash": "1"}, nil, []labels.Set{{"hash": "1"}, {}}, ""},
	} {
		selector, values := narrowed(&snapshot.SpreadConstraint{Selector: tt.selector, MatchLabelKeys: tt.keys}, tt.pod)
		for _, set := range tt.selects {
			if !selector.Matches(set) {
				t.Errorf("%s: it does not select %v", name, set)
			}
		}
		for _, set := range tt.not {
			if selector.Matches(set) {
				t.Errorf("%s: it selects %v", name, set)
			}
		}
		if values != tt.values {
			t.Errorf("%s: the values are %s", name, values)
		}
	}
}

// TestFinder_room counts pods of each node by their priorities.
func TestFinder_room(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 20, 20)).run(
		pod("low", "n2", asking(1, 1), priority(1)), pod("high", "n2", asking(4, 4), priority(5)), pod("middle", "n2", asking(2, 2), priority(3)),
		pod("other", "n2", asking(1, 1), priority(5)), pod("alone", "n1", asking(1, 1), priority(5)))
	f := New(w.Snapshot, Scenario{}, false)
	for _, p := range f.allPlaces() {
		for respects, want := range map[int32][2]int64{0: {8, 12}, 2: {8, 13}, 4: {8, 15}, 6: {9, 20}} {
			if got := f.room(p, respects).milliCPU; got != 1000*want[p.index] {
				t.Errorf("%s has %d of CPU left beside pods of priority %d, want %d", p.node.Name, got, respects, 1000*want[p.index])
			}
		}
	}
	if p := pod("p", "gone", asking(11, 1)); !f.Fits(p, p.Scheduling) {
		t.Error("a pod does not fit the larger node")
	}
}

// TestCandidates_endsWithEnough nodes on which preemption helps, if one of them violates no PodDisruptionBudget.
func TestCandidates_endsWithEnough(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes, protected, want int
	}{
		"a few":                      {20, 0, 20},
		"as many as are enough":      {enoughCandidates, 0, enoughCandidates},
		"more than are enough":       {enoughCandidates + 50, 0, enoughCandidates},
		"all of them are violations": {enoughCandidates + 50, enoughCandidates + 50, enoughCandidates + 50},
	} {
		w := newWorld(many(tt.nodes, "n", func(name string) *snapshot.Node { return having(node(name), 2, 2) })...).protect("victim", 0)
		for i, n := range w.SortedNodes() {
			app := map[bool]string{true: "victim", false: "other"}[i < tt.protected]
			w = w.run(pod("v-"+n.Name, n.Name, asking(2, 2), labelledAs("app", app)))
		}
		p := pod("p", "gone", asking(2, 2), priority(9))
		s := newSimulation(New(w.Snapshot, Scenario{}, false), []Eviction{{Pod: p, Scheduling: p.Scheduling}})
		s.run(1, 0)
		s.reset()
		if got := s.candidates(s.replacements[0].class, s.chance); len(got) != tt.want {
			t.Errorf("%s: %d nodes are tried, want %d", name, len(got), tt.want)
		}
	}
}

// TestStuck_wordsAReasonOnce for each class of pods: to look at all nodes costs most of a simulation.
func TestStuck_wordsAReasonOnce(t *testing.T) {
	t.Parallel()
	s, r := ofNode(t, pod("p", "gone", asking(9, 1)), having(node("a"), 4, 4))
	s.run(1, 0)
	if first := s.stuck(r); first != s.stuck(r) {
		t.Error("it is worded twice")
	}
}
