// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
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
		least := rapid.Int64Range(0, 2*maxScore).Draw(t, "least")
		for _, class := range s.classes {
			for i := range s.places {
				at := int32(i)
				if got, want := s.takes(class, at), s.ask(class, at) == takes; got != want {
					t.Fatalf("%s takes a pod: %t, want %t", s.places[i].node.Name, got, want)
				}
				if got, want := s.rate(class, at, least).score, s.rate(class, at, 0).score; got != want && (got >= least || want >= least) {
					t.Fatalf("score %d, want %d; the least is %d", got, want, least)
				}
			}
		}
	})
}
