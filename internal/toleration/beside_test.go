// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// TestMerge_besideForeignEntries: an entry of the same identity and other seconds that was in the
// list before the owned one is never owned, even while the owned one is missing.
func TestMerge_besideForeignEntries(t *testing.T) {
	t.Parallel()
	theirs := tols(t, "a=1:NoExecute for 30s")
	claim := want(t, "a=1:NoExecute for 60s")
	written := Merge(theirs, nil, claim, nil, true)
	both := tols(t, "a=1:NoExecute for 30s", "a=1:NoExecute for 60s")
	if !slices.EqualFunc(written.Tolerations, both, Equal) || len(written.Record) != 1 || !written.Record[0].Beside {
		t.Fatalf("it writes %v and the record %s", Format(written.Tolerations), written.Record)
	}
	for name, claim := range map[string]Claim{"written again": claim, "given up": claim.releasing()} {
		merged := Merge(theirs, written.Record, claim, nil, true)
		kept := slices.ContainsFunc(merged.Tolerations, func(one corev1.Toleration) bool { return Equal(one, theirs[0]) })
		if !kept {
			t.Errorf("%s while ours is missing, theirs is gone: %s", name, Format(merged.Tolerations))
		}
	}
}
