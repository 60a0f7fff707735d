// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestMark_proofsAreOfWhatClustersHoldAlready: they are in annotations that an upgrade must
// go on believing.
func TestMark_proofsAreOfWhatClustersHoldAlready(t *testing.T) {
	t.Parallel()
	previous := "old"
	for name, tt := range map[string]struct {
		mark Mark
		want []string
	}{
		"an entry":                 {Mark{Key: "a", Effect: "NoExecute"}, []string{"taint", "a", "NoExecute"}},
		"one that must be absent":  {Mark{Key: "a", Effect: "NoExecute", Absent: true}, []string{"taint", "a", "NoExecute", "absent"}},
		"one with a value before":  {Mark{Key: "a", Effect: "NoExecute", Previous: &previous}, []string{"taint", "a", "NoExecute", "previous", "old"}},
		"an absent one with value": {Mark{Key: "a", Effect: "NoExecute", Absent: true, Previous: &previous}, []string{"taint", "a", "NoExecute", "absent", "previous", "old"}},
	} {
		if diff := cmp.Diff(tt.want, tt.mark.Sealed().Parts); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestByOwner_groupsAllEntriesOfTheFirstOwner(t *testing.T) {
	t.Parallel()
	list := []corev1.Taint{{Key: "a", Effect: "NoSchedule"}, {Key: "b", Effect: "NoSchedule"}, {Key: "c", Effect: "NoSchedule"}}
	record := Record{{Key: "a", Effect: "NoSchedule", Owner: "x"}, {Key: "b", Effect: "NoSchedule", Owner: "y"}, {Key: "c", Effect: "NoSchedule", Owner: "x"}}
	want := []Owned{{Owner: "x", Taints: []corev1.Taint{list[0], list[2]}}, {Owner: "y", Taints: list[1:2]}}
	if diff := cmp.Diff(want, ByOwner(list, record)); diff != "" {
		t.Error(diff)
	}
}

func TestMerge_anEntryThatGoesWhileItsTaintIsGoneChangesItsMark(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g", Absent: []ID{{Key: "a", Effect: "NoExecute"}}}
	stood := Record{{Key: "a", Effect: "NoExecute", Owner: "me", Generation: "g"}}
	merged := Merge(nil, stood, claim)
	if !merged.Changed || len(merged.Record) != 1 || !merged.Record[0].Absent {
		t.Errorf("changed %t: %v", merged.Changed, merged.Record)
	}
	if again := Merge(nil, merged.Record, claim); again.Changed {
		t.Errorf("again, it changes %v", again.Record)
	}
}
