// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"errors"
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestDesired_Hold has all three kinds of records on a MachineSet, of this resource and of another.
func TestDesired_Hold(t *testing.T) {
	t.Parallel()
	const object = "MachineSet/a/b"
	ours := taint.Claim{Owner: "terraform/gpu", Generation: "g1", Seal: record.Seal{Nonce: "n1"}, Taints: taintsOf(t, "team=a:NoSchedule")}
	theirs := taint.Claim{Owner: "terraform/other", Generation: "g2", Seal: record.Seal{Nonce: "n2"}, Taints: taintsOf(t, "spot=a:NoSchedule")}
	whole := func() *Set {
		set := &Set{Namespace: "a", Name: "b"}
		for _, claim := range []taint.Claim{ours, theirs} {
			merged := taint.Merge(set.Taints, set.Record, claim.On(object))
			set.Taints, set.Record = merged.Taints, merged.Record
			set.Remnants = append(set.Remnants, kept(t, claim, object, "crew=a:NoSchedule", "u1")...)
		}
		set.Marker = &Marker{ID: ours.Owner, Retired: []string{"crew:NoSchedule"}}
		set.Marker.Proof = ours.On(object).Seal.Proof(set.Marker.Sealed().Parts...)
		return set
	}
	before := record.Held{}
	left := Desired{Claim: ours, Rollout: Rollout{Strategy: TemplateOnly}}
	if left.Hold(whole(), before); len(before) != 2 {
		t.Fatalf("%d are held, want a mark and a remnant", len(before))
	}
	for name, tt := range map[string]struct {
		change func(s *Set, d *Desired)
		want   int
	}{
		"no remnants": {func(s *Set, _ *Desired) { s.Remnants = nil }, 1},
		"remnants that another strategy removed, written back":   {func(_ *Set, d *Desired) { d.Rollout.Strategy = InPlace }, 1},
		"a mark of a taint that is wanted no more, written back": {func(_ *Set, d *Desired) { d.Claim.Taints = nil }, 1},
		"a mark of an earlier generation":                        {func(s *Set, d *Desired) { d.Claim.Generation = "g3" }, 0},
		"a taint that was imported without a mark": {func(s *Set, d *Desired) {
			unmarked := taintsOf(t, "zone=a:NoSchedule")[0]
			id := taint.IDOf(unmarked)
			s.Taints, d.Claim.Taints, d.Claim.Imported = append(s.Taints, unmarked), append(slices.Clone(d.Claim.Taints), unmarked), map[taint.ID][]string{id: {""}}
		}, 3},
		"a damaged record": {func(s *Set, _ *Desired) { *s = Set{Namespace: "a", Name: "b", RecordErr: errors.New("damaged")} }, 1},
		"a damaged marker": {func(s *Set, _ *Desired) { s.Marker, s.MarkerErr = nil, errors.New("damaged") }, 3},
		"a damaged record, which was known": {func(s *Set, d *Desired) {
			*s, d.Claim.Seal.Held = Set{Namespace: "a", Name: "b", RecordErr: errors.New("damaged")}, before
		}, 2},
	} {
		set, d, held := whole(), left, record.Held{}
		tt.change(set, &d)
		if d.Hold(set, held); len(held) != tt.want {
			t.Errorf("%s: %d are held, want %d", name, len(held), tt.want)
		}
	}
}

// TestDesired_Of_believesNoMarkThatAnImportHasNotSeen has a copied mark on a MachineSet that is not
// meant, after an import by which the proofs were lost, and after their loss in a killed update.
func TestDesired_Of_believesNoMarkThatAnImportHasNotSeen(t *testing.T) {
	t.Parallel()
	written := taint.Claim{Owner: "terraform/gpu", Generation: "g1", Seal: record.Seal{Nonce: "n1"}, Taints: taintsOf(t, "team=a:NoSchedule")}
	set := &Set{Namespace: "a", Name: "b"}
	set.Record = taint.Merge(nil, nil, written.On("MachineSet/a/other")).Record
	seen := record.Held{}
	seen.Note(written.Seal.On(set.Object()), set.Record[0].Sealed())
	for name, tt := range map[string]struct {
		held record.Held
		owns bool
	}{
		"an import that has not seen it": {record.Held{}, false},
		"an import that has seen it":     {seen, true},
		"a state of earlier builds":      {nil, false},
	} {
		claim := written
		claim.Seal.Epoch, claim.Seal.Held = 1, tt.held
		if d := (Desired{Claim: claim}).Of(set, Target{Namespace: "a", Name: "else"}); d.Owns(set) != tt.owns {
			t.Errorf("%s owns it: %t", name, !tt.owns)
		}
	}
}

// TestRemnants_keepTheirProofs: a proof that counts is kept, whatever epoch an apply is of.
func TestRemnants_keepTheirProofs(t *testing.T) {
	t.Parallel()
	const object = "MachineSet/a/b"
	claim := taint.Claim{Owner: "terraform/gpu", Generation: "g1", Seal: record.Seal{Nonce: "n1"}}
	r := kept(t, claim, object, "team=a:NoSchedule", "u1")
	held := record.Held{}
	held.Hold(claim.On(object).Seal, r[0].Sealed())
	claim.Seal.Epoch, claim.Seal.Held = 2, held
	if again := r.byMachine().record(claim.On(object), r); again.String() != r.String() {
		t.Errorf("%s is written as %s", r, again)
	}
	for name, other := range map[string]Remnant{
		"another resource":  {Key: r[0].Key, Effect: r[0].Effect, Value: r[0].Value, Machines: r[0].Machines, Owner: "terraform/other", Generation: r[0].Generation, Proof: "theirs"},
		"an earlier create": {Key: r[0].Key, Effect: r[0].Effect, Value: r[0].Value, Machines: r[0].Machines, Owner: r[0].Owner, Generation: "g0", Proof: "theirs"},
	} {
		if again := r.byMachine().record(claim.On(object), RemnantRecord{other, r[0]}); again.String() != r.String() {
			t.Errorf("beside one of %s it is written as %s", name, again)
		}
	}
	claim.Seal.Held = record.Held{}
	if again := r.byMachine().record(claim.On(object), r); again.String() == r.String() || !again[0].of(claim.On(object)) {
		t.Errorf("what was given up keeps its proof: %s", again)
	}
}
