// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// TestClaim_Holds has a wanted toleration, and one that retires, after an apply of one claim.
func TestClaim_Holds(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n", Epoch: 2, Held: record.Held{}}
	both := Claim{Owner: "me", Generation: "g", Seal: seal, Tolerations: tols(t, "a=1:NoExecute", "b=1:NoExecute")}.On("Deployment/shop/web")
	first := Merge(nil, nil, both, nil, true)
	claim := both
	claim.Tolerations = both.Tolerations[1:]
	got := Merge(first.Tolerations, first.Record, claim, []corev1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute}}, true)
	if len(got.Record) != 2 || !Retiring(got.Record) {
		t.Fatalf("the record is %s", got.Record)
	}
	for name, tt := range map[string]struct {
		change func(c *Claim, m *Mark)
		// retiring and wanted are whether these two are held.
		retiring, wanted bool
	}{
		"after the apply":                  {func(*Claim, *Mark) {}, true, true},
		"of another list":                  {func(c *Claim, _ *Mark) { c.Path = "spec.other" }, false, false},
		"of another generation":            {func(_ *Claim, m *Mark) { m.Generation = "other" }, true, false},
		"whose proofs were given up":       {func(c *Claim, _ *Mark) { c.Seal.Epoch = 3 }, false, false},
		"of another resource":              {func(c *Claim, _ *Mark) { c.Seal.Nonce, c.Generation = "other", "other" }, false, false},
		"where nothing is wanted any more": {func(c *Claim, _ *Mark) { c.Tolerations = nil }, true, false},
		"where everything is given up":     {func(c *Claim, _ *Mark) { c.Release = true }, true, false},
		"of a resource without marks":      {func(c *Claim, _ *Mark) { *c = Claim{Tolerations: c.Tolerations} }, false, false},
		"where a retiring one was made up": {func(_ *Claim, m *Mark) { m.Retiring, m.Proof = true, "made up" }, false, false},
		"without a proof":                  {func(_ *Claim, m *Mark) { m.Proof = "" }, false, false},
	} {
		for _, mark := range got.Record {
			c, want := claim, tt.wanted
			if mark.Retiring {
				want = tt.retiring
			}
			tt.change(&c, &mark)
			if c.Holds(mark) != want {
				t.Errorf("%s: %s is held: %t", name, mark.Key, !want)
			}
		}
	}
}

// TestMerge_marksOfEarlierApplies has what an apply has written be read in the next one.
func TestMerge_marksOfEarlierApplies(t *testing.T) {
	t.Parallel()
	const object = "Deployment/shop/web"
	live := []corev1.Taint{{Key: "a", Value: "1", Effect: corev1.TaintEffectNoExecute}}
	wants := Claim{Owner: "me", Generation: "g", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Tolerations: tols(t, "a=1:NoExecute")}.On(object)
	written := Merge(nil, nil, wants, nil, true)
	next := wants
	next.Seal.Epoch, next.Seal.Held = 2, record.Held{}
	next.Seal.Held.Hold(wants.Seal, written.Record[0].Sealed())
	if got := Merge(written.Tolerations, written.Record, next, nil, true); got.Changed {
		t.Errorf("the next apply alone writes %s for %s", got.Record, written.Record)
	}
	next.Tolerations = nil
	retired := Merge(written.Tolerations, written.Record, next, live, true)
	if !Retiring(retired.Record) {
		t.Fatalf("what is held and needed becomes %s", retired.Record)
	}
	after := next
	after.Seal.Epoch, after.Seal.Held = 3, record.Held{}
	after.Seal.Held.Hold(next.Seal, retired.Record[0].Sealed())
	if got := Merge(retired.Tolerations, retired.Record, after, live, true); got.Changed {
		t.Errorf("what retires is written anew: %s for %s", got.Record, retired.Record)
	}
	if got := Merge(retired.Tolerations, retired.Record, after, nil, true); len(got.Removed) != 1 {
		t.Errorf("what retires and nothing needs stays: %s", got.Record)
	}
	after.Seal.Held = record.Held{}
	for name, before := range map[string]Merged{"wanted": written, "retiring": retired} {
		if got := Merge(before.Tolerations, before.Record, after, nil, true); got.Changed {
			t.Errorf("what was %s and given up is taken: %s", name, got.Record)
		}
		wants.Seal = after.Seal
		again := Merge(before.Tolerations, before.Record, wants, nil, true)
		if wants.Tolerations = nil; len(again.Record) != 1 || !wants.Owns(again.Record) {
			t.Errorf("what was %s and is wanted again is not proved anew: %s", name, again.Record)
		}
		wants.Tolerations = next.Tolerations
		wants.Tolerations = tols(t, "a=1:NoExecute")
	}
}

// TestClaim_Hold_ofEarlierBuilds: these proved a mark that retires as one that does not. It is held, and
// goes with a later apply.
func TestClaim_Hold_ofEarlierBuilds(t *testing.T) {
	t.Parallel()
	claim := Claim{Owner: "me", Generation: "g", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Tolerations: tols(t, "a=1:NoExecute")}.On("Deployment/shop/web")
	mark := Merge(nil, nil, claim, nil, true).Record[0]
	mark.Retiring = true
	held, next := record.Held{}, claim
	claim.Hold(mark, held)
	next.Seal.Epoch, next.Seal.Held, next.Tolerations = 2, held, nil
	if got := Merge(tols(t, "a=1:NoExecute"), Record{mark}, next, nil, true); len(got.Removed) != 1 {
		t.Errorf("it stays: %s", got.Record)
	}
}

// TestClaim_Hold_ofImports holds a mark that an import has seen, until the next change writes it.
func TestClaim_Hold_ofImports(t *testing.T) {
	t.Parallel()
	mark := marks(t, "a=1:NoExecute of other/g1")[0]
	claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Tolerations: tols(t, "a=1:NoExecute"), Imported: map[ID][]string{mark.ID(): {"g1"}}}.On("Deployment/shop/web")
	claim.Seal.Held.Note(claim.Seal, mark.Sealed())
	for name, tt := range map[string]struct {
		change func(*Claim, *Mark)
		want   bool
	}{
		"that are as they were":           {func(*Claim, *Mark) {}, true},
		"that another writer has changed": {func(_ *Claim, m *Mark) { m.Owner, m.Key = "me", "b" }, false},
		"of another generation":           {func(_ *Claim, m *Mark) { m.Generation = "g0" }, false},
		"of another object":               {func(c *Claim, _ *Mark) { *c = c.On("Deployment/shop/db") }, false},
	} {
		c, m, held := claim, mark, record.Held{}
		tt.change(&c, &m)
		c.Hold(m, held)
		next := c.Seal
		next.Epoch, next.Held = 2, held
		if got := next.Proves(m.Sealed()); got != tt.want || (len(held) > 0) != tt.want {
			t.Errorf("%s: held: %t", name, got)
		}
	}
}

// TestClaim_Restored has an entry that the resource gave up, and that a rollback brings back with its mark.
func TestClaim_Restored(t *testing.T) {
	t.Parallel()
	given := Claim{Owner: "me", Generation: "g", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Tolerations: tols(t, "a=1:NoExecute")}.On("Deployment/shop/web")
	mark := Merge(nil, nil, given, nil, true).Record[0]
	claim := given
	claim.Tolerations, claim.Seal.Epoch = nil, 2
	wanted, elsewhere := claim, claim
	wanted.Tolerations, elsewhere.Path = given.Tolerations, "spec.other"
	held := given
	held.Tolerations = nil
	for name, tt := range map[string]struct {
		claim  Claim
		list   []string
		change func(*Mark)
		back   bool
	}{
		"with the mark that it had":        {claim, []string{"a=1:NoExecute", "b Exists"}, func(*Mark) {}, true},
		"with a mark that was made up":     {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Proof = "" }, true},
		"with a mark that still counts":    {held, []string{"a=1:NoExecute"}, func(*Mark) {}, false},
		"with a mark of another resource":  {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Owner = "other" }, false},
		"with a mark of an earlier create": {claim, []string{"a=1:NoExecute"}, func(m *Mark) { m.Generation = "g1" }, false},
		"with a mark of another list":      {elsewhere, []string{"a=1:NoExecute"}, func(*Mark) {}, false},
		"where the mark alone is back":     {claim, []string{"b Exists"}, func(*Mark) {}, false},
		"where it is wanted by now":        {wanted, []string{"a=1:NoExecute"}, func(m *Mark) { m.Proof = "" }, false},
	} {
		changed := mark
		tt.change(&changed)
		if got := tt.claim.Restored(tols(t, tt.list...), Record{changed}); (len(got) == 1 && Equal(got[0], given.Tolerations[0])) != tt.back || len(got) > 1 {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// TestClaim_HoldUnmarked holds what was imported without a mark and is still wanted, where the import has
// seen it.
func TestClaim_HoldUnmarked(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}, Object: "Deployment/shop/web"}
	list := tols(t, "a=1:NoExecute", "b=1:NoExecute")
	for _, one := range list {
		seal.Held.Note(seal, IDOf(one).Unmarked(""))
	}
	imported := map[ID][]string{IDOf(list[0]): {""}, IDOf(list[1]): {""}}
	for name, tt := range map[string]struct {
		change func(*Claim)
		record Record
		want   int
	}{
		"both are wanted":             {func(*Claim) {}, nil, 2},
		"one is not wanted any more":  {func(c *Claim) { c.Tolerations = list[:1] }, nil, 1},
		"one has a mark by now":       {func(*Claim) {}, Record{{Key: "a", Operator: "Equal", Value: "1", Effect: "NoExecute", Owner: "me", Generation: "g"}}, 1},
		"on an object of others":      {func(c *Claim) { *c = c.On("Deployment/shop/db") }, nil, 0},
		"where all of it is given up": {func(c *Claim) { c.Release = true }, nil, 0},
	} {
		claim, held := Claim{Owner: "me", Generation: "g", Seal: seal, Tolerations: list, Imported: imported}, record.Held{}
		tt.change(&claim)
		if claim.HoldUnmarked(list, tt.record, held); len(held) != tt.want {
			t.Errorf("%s: %d are held, want %d", name, len(held), tt.want)
		}
	}
}

// TestMerge_aMarkThatTheImportHasNotSeen is of another resource, or made up: it is replaced by one with a
// proof, in a list that is as it should be.
func TestMerge_aMarkThatTheImportHasNotSeen(t *testing.T) {
	t.Parallel()
	list := tols(t, "a=1:NoExecute")
	mark := Mark{Key: "a", Operator: "Equal", Value: "1", Effect: "NoExecute", Owner: "me", Generation: "g1"}
	for name, seen := range map[string]bool{"seen": true, "not seen": false} {
		claim := Claim{Owner: "me", Generation: "g2", Seal: record.Seal{Nonce: "n", Epoch: 1, Held: record.Held{}}, Tolerations: list, Imported: map[ID][]string{IDOf(list[0]): {"g1"}}}.On("Deployment/shop/web")
		if seen {
			claim.Seal.Held.Note(claim.Seal, mark.Sealed())
		}
		if got := Merge(list, Record{mark}, claim, nil, true); got.Changed == seen {
			t.Errorf("%s: the record becomes %s, changed: %t", name, got.Record, got.Changed)
		}
	}
}
