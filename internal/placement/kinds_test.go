// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"
)

// TestFits_askingForNothingOfAResource fits a node that holds more of it than it has, since its kubelet says less now.
func TestFits_askingForNothingOfAResource(t *testing.T) {
	t.Parallel()
	full := disk(having(node("n2"), 1, 1), 1)
	w := newWorld(having(node("n1"), 9, 9), full).run(pod("p", "n1", asking(0, 0)), other("holds", "n2", asking(2, 2), scratch(2)))
	if !w.fits(t, "p", tainting("n1", "a:NoSchedule")) || w.simulate().Placed != exactly(1) {
		t.Error("it fits no node")
	}
}

func TestFits_whereLocalStorageIsLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		asks, held int64
		back       bool
	}{
		"it comes back where it just fits beside others":      {1, 2, true},
		"it does not where others hold it":                    {2, 2, false},
		"what it does not ask for may be overdrawn by others": {0, 9, true},
	} {
		p := pod("p", "n1", asking(1, 1))
		if tt.asks > 0 {
			scratch(tt.asks)(p)
		}
		w := newWorld(having(node("n1"), 100, 100), disk(having(node("n2"), 4, 8), 3)).run(p, other("q", "n2", asking(1, 1), scratch(tt.held)))
		if got := w.fits(t, "p", tainting("n1", "a:NoExecute")); got != tt.back {
			t.Errorf("%s: fits %t", name, got)
		}
	}
}
