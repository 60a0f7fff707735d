// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestOn_aMarkProvesNothingOnAnotherObject: a user who may patch a node may copy its annotations.
func TestOn_aMarkProvesNothingOnAnotherObject(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n"}, Taints: list(t, "a:NoExecute")}
	made := Merge(nil, nil, claim.On("Node/a"))
	claim.Taints = nil
	for object, left := range map[string]int{"Node/a": 0, "Node/b": 1} {
		on := claim.On(object)
		if on.Owns(made.Record) != (left == 0) {
			t.Errorf("it owns a mark on %s: %t", object, left > 0)
		}
		if got := Merge(made.Taints, made.Record, on); len(got.Taints) != left {
			t.Errorf("on %s there is %v", object, got.Taints)
		}
	}
}

func TestOnNode_anImportCountsOnTheNodeThatItHasSeen(t *testing.T) {
	t.Parallel()
	there, id := list(t, "a:NoExecute"), ID{"a", corev1.TaintEffectNoExecute}
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Taints: there, Imported: map[ID][]string{id: {""}}}
	seen := claim.OnNode("a", "uid-1").Seal
	seen.Held.Note(seen, id.Unmarked())
	for name, tt := range map[string]struct {
		node, uid string
		conflicts int
	}{
		"the node that it has seen":             {"a", "uid-1", 0},
		"a node that was recreated by its name": {"a", "uid-2", 1},
		"another node":                          {"b", "uid-1", 1},
	} {
		if got := Merge(there, nil, claim.OnNode(tt.node, types.UID(tt.uid))); len(got.Conflicts) != tt.conflicts {
			t.Errorf("%s: conflicts %v", name, got.Conflicts)
		}
	}
}

// TestMerge_leavesMarksOfEarlierApplies as they are where nothing else changes: a new epoch alone writes to no node.
func TestMerge_leavesMarksOfEarlierApplies(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Taints: list(t, "a:NoExecute"), Absent: []ID{{"b", noEx}}}.On("Node/a")
	made := Merge(list(t, "b:NoExecute"), nil, claim)
	next := claim
	next.Seal.Epoch, next.Seal.Held = 2, record.Held{}
	for _, mark := range made.Record {
		claim.Hold(mark, next.Seal.Held)
	}
	if got := Merge(made.Taints, made.Record, next); got.Changed || len(made.Record) != 2 {
		t.Errorf("%s becomes %s", made.Record, got.Record)
	}
}

func TestIDs_areThoseOfEachInOrder(t *testing.T) {
	t.Parallel()
	if got := IDs(list(t, "b:NoExecute", "a=1:NoSchedule")); len(got) != 2 || got[0] != (ID{"b", corev1.TaintEffectNoExecute}) || got[1] != (ID{"a", corev1.TaintEffectNoSchedule}) {
		t.Errorf("got %v", got)
	}
}

func TestID_isReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	want := ID{"example.com/team", corev1.TaintEffectNoExecute}
	text, err := want.MarshalText()
	var got ID
	if err != nil || got.UnmarshalText(text) != nil || got != want {
		t.Errorf("%s is read as %v (%v)", text, got, err)
	}
	if err := got.UnmarshalText([]byte("team")); err == nil || got != want {
		t.Errorf("what has no effect is read as %v (%v)", got, err)
	}
}

// TestMerge_marksWhatMustBeAbsent, also where another writer has taken it away already.
func TestMerge_marksWhatMustBeAbsent(t *testing.T) {
	t.Parallel()
	a := ID{"a", corev1.TaintEffectNoExecute}
	standing := Mark{Key: a.Key, Effect: a.Effect, Owner: "me", Generation: "g2"}
	absent := standing
	absent.Absent = true
	for name, tt := range map[string]struct {
		taints  string
		record  Record
		changed bool
		marked  bool
	}{
		"ours that stands goes":                        {"a:NoExecute", Record{standing}, true, true},
		"ours that another writer has taken away":      {"", Record{standing}, true, true},
		"ours that has gone already":                   {"", Record{absent}, false, true},
		"what is not there and not owned":              {"", nil, false, false},
		"ours that another writer has put there again": {"a:NoExecute", Record{absent}, true, true},
	} {
		var taints []corev1.Taint
		if tt.taints != "" {
			taints = list(t, tt.taints)
		}
		got := Merge(taints, tt.record, Claim{Owner: "me", Generation: "g2", Absent: []ID{a}})
		mark, marked := got.Record.Of(a)
		if got.Changed != tt.changed || marked != tt.marked || marked && !mark.Absent || len(got.Taints) > 0 {
			t.Errorf("%s: changed %t, marked %v, left %v", name, got.Changed, mark, got.Taints)
		}
	}
}

// TestMerge_ofMarksThatAnImportHasSeen: what others write after an import decides nothing.
func TestMerge_ofMarksThatAnImportHasSeen(t *testing.T) {
	t.Parallel()
	mark := Mark{Key: "a", Effect: "NoExecute", Owner: "other", Generation: "g1", Previous: new("before")}
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Imported: map[ID][]string{mark.ID(): {"g1"}}}
	claim.Seal.Held.Note(claim.Seal.On("Node/a"), mark.Sealed())
	changed := mark
	changed.Previous = new("evil")
	for name, tt := range map[string]struct {
		mark   Mark
		object string
		wanted bool
		// left is what there is after it, or after a destroy.
		left, destroyed string
		// marked is whether the mark is written anew.
		marked bool
	}{
		"as it was":                                {mark, "Node/a", true, "a=1:NoExecute", "a=before:NoExecute", false},
		"as it was, and not wanted":                {mark, "Node/a", false, "a=before:NoExecute", "a=before:NoExecute", false},
		"changed since":                            {changed, "Node/a", true, "a=1:NoExecute", "", true},
		"changed since, and not wanted":            {changed, "Node/a", false, "a=1:NoExecute", "a=1:NoExecute", false},
		"on an object that came later":             {mark, "Node/b", true, "a=1:NoExecute", "", true},
		"on an object that came later, not wanted": {mark, "Node/b", false, "a=1:NoExecute", "a=1:NoExecute", false},
	} {
		on := claim.On(tt.object)
		if tt.wanted {
			on.Taints = list(t, "a=1:NoExecute")
		}
		got := Merge(list(t, "a=1:NoExecute"), Record{tt.mark}, on)
		now, marked := got.Record.Of(mark.ID())
		if FormatAll(got.Taints) != tt.left || (marked && now.Generation == "g2") != tt.marked {
			t.Errorf("%s: there is %s with %v", name, FormatAll(got.Taints), got.Record)
		}
		on.Release = true
		if gone := Merge(list(t, "a=1:NoExecute"), Record{tt.mark}, on); FormatAll(gone.Taints) != tt.destroyed {
			t.Errorf("%s: a destroy leaves %s", name, FormatAll(gone.Taints))
		}
	}
}
