// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestClaim_Hold asks what counts in the next apply: a mark that this one has written, or that an import has seen.
func TestClaim_Hold(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Taints: list(t, "a=1:NoExecute")}.On("Node/x")
	written := Merge(nil, nil, claim).Record[0]
	seen := Mark{Key: "a", Effect: noEx, Owner: "other", Generation: "g1"}
	imported := claim
	imported.Imported, imported.Seal.Held = map[ID][]string{seen.ID(): {"g1"}}, record.Held{}
	imported.Seal.Held.Note(imported.Seal, seen.Sealed())
	reserved := Mark{Key: "node.kubernetes.io/unreachable", Effect: noEx, Owner: "me", Generation: "g2"}
	reserved.Proof = claim.Seal.Renew(reserved.Sealed())
	changed := seen
	changed.Absent = true
	for name, tt := range map[string]struct {
		claim Claim
		mark  Mark
		want  bool
	}{
		"a mark that it has written":            {claim, written, true},
		"a mark that no resource may have":      {claim, reserved, false},
		"a mark of another resource":            {claim, seen, false},
		"a mark that an import has seen":        {imported, seen, true},
		"a mark that has changed since import":  {imported, changed, false},
		"a mark on another object than it saw":  {imported.On("Node/y"), seen, false},
		"a mark of its generation, not written": {claim, Mark{Key: "a", Effect: noEx, Owner: "me", Generation: "g2"}, false},
	} {
		held := record.Held{}
		tt.claim.Hold(tt.mark, held)
		next := tt.claim.Leaving()
		next.Seal.Epoch, next.Seal.Held = 2, held
		if got := next.Owns(Record{tt.mark}); got != tt.want || (len(held) > 0) != tt.want {
			t.Errorf("%s: counts in the next apply: %t, held: %v", name, got, held)
		}
	}
}

// TestClaim_HoldUnmarked holds what was imported without a mark and is still wanted, where the import has
// seen it.
func TestClaim_HoldUnmarked(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}, Object: "Node/x"}
	taints := list(t, "a=1:NoExecute", "b=1:NoExecute")
	imported := map[ID][]string{}
	for _, one := range taints {
		seal.Held.Note(seal, IDOf(one).Unmarked())
		imported[IDOf(one)] = []string{""}
	}
	for name, tt := range map[string]struct {
		change func(*Claim)
		record Record
		want   int
	}{
		"both are wanted":            {func(*Claim) {}, nil, 2},
		"one is not wanted any more": {func(c *Claim) { c.Taints = taints[:1] }, nil, 1},
		"one was not imported":       {func(c *Claim) { c.Imported = map[ID][]string{IDOf(taints[0]): {""}} }, nil, 1},
		"one has a mark by now":      {func(*Claim) {}, marks(t, "a:NoExecute me/g2"), 1},
		"on an object of others":     {func(c *Claim) { *c = c.On("Node/y") }, nil, 0},
	} {
		claim, held := Claim{Owner: "me", Generation: "g2", Seal: seal, Taints: taints, Imported: imported}, record.Held{}
		tt.change(&claim)
		if claim.HoldUnmarked(taints, tt.record, held); len(held) != tt.want {
			t.Errorf("%s: %d are held, want %d", name, len(held), tt.want)
		}
	}
}

// TestClaim_Leaving has nodes that the resource does not mean any more: it owns there what its marks prove.
func TestClaim_Leaving(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}, Object: "Node/x"}
	written := Mark{Key: "a", Effect: noEx, Owner: "me", Generation: "g2"}
	written.Proof = seal.Renew(written.Sealed())
	madeUp := Mark{Key: "b", Effect: noEx, Owner: "me", Generation: "g2"}
	earlier := Mark{Key: "c", Effect: noEx, Owner: "me", Generation: "g1"}
	seen := Mark{Key: "d", Effect: noEx, Owner: "other", Generation: "g0"}
	seal.Held.Note(seal, seen.Sealed())
	unmarked := must(t, "e:NoExecute")
	seal.Held.Note(seal, IDOf(unmarked).Unmarked())
	all := list(t, "a:NoExecute", "b:NoExecute", "c:NoExecute", "d:NoExecute", "e:NoExecute")
	claim := Claim{
		Owner: "me", Generation: "g2", Seal: seal, TakeOver: true, Adopt: true, Taints: all, Absent: ids(t, "f:NoExecute"),
		Imported: map[ID][]string{seen.ID(): {"g0", ""}, IDOf(unmarked): {""}},
	}
	leaving := claim.Leaving()
	got := Merge(append(all, must(t, "f:NoExecute")), Record{written, madeUp, earlier, seen}, leaving)
	if !leaving.Release {
		t.Error("it is not given up")
	}
	equal(t, "taints", []string{"b:NoExecute", "c:NoExecute", "e:NoExecute", "f:NoExecute"}, notations(got))
	equal(t, "conflicts", nil, writeConflicts(got.Conflicts))
	if again := claim.Imported[seen.ID()]; len(again) != 2 || again[0] != "g0" || again[1] != "" {
		t.Errorf("the claim that it was made of imports %q", again)
	}
}
