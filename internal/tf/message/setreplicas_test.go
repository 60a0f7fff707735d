// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// TestReplicasAtTheEnd of a rollout that began at 3 and was interrupted at 5.
func TestReplicasAtTheEnd(t *testing.T) {
	t.Parallel()
	for want, by := range map[string][2]machineset.Strategy{
		", and spec.replicas is 3 at the end":                                 {machineset.Surge, machineset.Surge},
		", and does not change spec.replicas":                                 {machineset.Rolling, machineset.InPlace},
		" with the strategy scale_to_zero, and spec.replicas is 5 at the end": {machineset.Rolling, machineset.ScaleToZero},
	} {
		s := &machineset.Set{Replicas: 5, Marker: &machineset.Marker{Strategy: by[0], OriginalReplicas: 3}}
		if got := ReplicasAtTheEnd(s, by[1]); got != want {
			t.Errorf("%s, then %s: %q, want %q", by[0], by[1], got, want)
		}
	}
}
