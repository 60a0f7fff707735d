// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Of pods that are created in the same moment, one with a generic ephemeral volume comes first by its priority, unless another pod is placed before its claim is there.
func TestSimulate_othersMayComeBeforeAPodWithAnEphemeralVolume(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		volume podOption
		want   Range
	}{
		"an ephemeral volume": {ephemeralVolume, Range{0, 1}},
		"none":                {func(*snapshot.Pod) {}, exactly(1)},
	} {
		w := newWorld(having(node("n1"), 8, 8), having(node("n2"), 1, 8)).stored()
		w.owns("first", "dynamic").run(pod("first", "n1", tt.volume, asking(1, 1), priority(9), patient, ownedBy("ReplicaSet", "first"))).
			run(pod("web-0", "n1", asking(1, 1), ownedBy("ReplicaSet", "web")))
		if got := inOneWave(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")).try(Orders, 1).of(t, "web").Missing; got != tt.want {
			t.Errorf("%s: %v of the other pod are missing, want %v", name, got, tt.want)
		}
	}
}
