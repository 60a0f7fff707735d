// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Shortcuts change no answer and no choice, in the middle of an order too.
func TestSimulation_shortCutsChangeNoAnswer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, rapid.Bool().Draw(t, "related"), true)
		s := c.simulation()
		s.run(3, rapid.IntRange(0, 5).Draw(t, "order"))
		for _, class := range s.classes {
			for i := range s.places {
				at := int32(i)
				if got, want := s.takes(class, at), s.ask(class, at) == takes; got != want {
					t.Fatalf("%s takes a pod: %t, want %t", s.places[i].node.Name, got, want)
				}
			}
		}
		for _, r := range s.replacements {
			var takers []rated
			for i := range s.places {
				takers = append(takers, s.rate(r.class, int32(i)))
			}
			got := slices.Clone(s.bestOf(r, takers))
			// bestOf has added what depends on other nodes.
			var want []int32
			highest := int64(-1)
			for _, one := range takers {
				score := one.score + s.state(one.node).balancing(r.class.demand)
				if score > highest {
					want, highest = nil, score
				}
				if score == highest {
					want = append(want, one.node)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("the best nodes are %v, want %v", got, want)
			}
		}
	})
}
