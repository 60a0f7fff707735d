// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A pod was resized from 1 to 3 cores: its controller creates one of 1 core again, which finds the 2 that are free.
func TestSimulate_provesNothingOfPodsThatMayHaveBeenResized(t *testing.T) {
	t.Parallel()
	for resized, proved := range map[bool]int{false: 1, true: 0} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 100)).
			run(replicas("web", "n1", 1, asking(3, 1), func(p *snapshot.Pod) { p.Demand.Resized = resized })...)
		if got := w.simulate().of(t, "web"); got.Proved != proved || got.Pending != exactly(1) {
			t.Errorf("resized %t: proved %d, Pending %v", resized, got.Proved, got.Pending)
		}
	}
}
