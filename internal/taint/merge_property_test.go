// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// aTaint makes a generator, as all of them are made where they are used: rapid
// caches a generator's name without a lock, so that tests cannot share one.
func aTaint() *rapid.Generator[corev1.Taint] {
	return rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:    rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "key"),
			Value:  rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "value"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{"NoExecute", "NoSchedule"}).Draw(t, "effect"),
		}
	})
}

func aList(t *rapid.T, label string, most int) []corev1.Taint {
	out := rapid.SliceOfNDistinct(aTaint(), 0, most, IDOf).Draw(t, label)
	for i := range out {
		if rapid.Bool().Draw(t, "with a time") {
			out[i] = added(out[i], int64(1_700_000_000+i))
		}
	}
	return out
}

func aRecord(t *rapid.T) Record {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Mark {
		x := aTaint().Draw(t, "marked")
		m := Mark{
			Key: x.Key, Effect: x.Effect, Absent: rapid.Bool().Draw(t, "absent"),
			Owner:      rapid.SampledFrom([]string{"me", "other"}).Draw(t, "owner"),
			Generation: rapid.SampledFrom([]string{"g1", "g2", "g3"}).Draw(t, "generation"),
		}
		if rapid.Bool().Draw(t, "previous") {
			m.Previous = &x.Value
		}
		return m
	}), 0, 4, Mark.ID).Draw(t, "record")
}

func aClaim(t *rapid.T) Claim {
	c := Claim{
		Owner: "me", Generation: "g2", Adopt: rapid.Bool().Draw(t, "adopt"), TakeOver: rapid.Bool().Draw(t, "take over"),
		Release: rapid.Float64Range(0, 1).Draw(t, "release") < 0.2, Imported: map[ID][]string{},
	}
	for _, x := range rapid.SliceOfNDistinct(aTaint(), 0, 5, IDOf).Draw(t, "claimed") {
		if rapid.Float64Range(0, 1).Draw(t, "absent") < 0.3 {
			c.Absent = append(c.Absent, IDOf(x))
		} else {
			c.Taints = append(c.Taints, x)
		}
	}
	for _, x := range rapid.SliceOfNDistinct(aTaint(), 0, 2, IDOf).Draw(t, "imported") {
		c.Imported[IDOf(x)] = []string{rapid.SampledFrom([]string{"", "", "g1"}).Draw(t, "imported generation")}
	}
	return c
}

// concerns reports whether a merge may touch an entry: it is wanted, owned by the
// record, or imported.
func concerns(c Claim, r Record, id ID) bool {
	m, marked := r.Of(id)
	_, imported := c.Imported[id]
	return imported || slices.Contains(c.IDs(), id) || marked && c.owns(m)
}

func checkMerge(t interface{ Fatalf(string, ...any) }, current []corev1.Taint, record Record, claim Claim) {
	got := Merge(current, record, claim)
	foreign := func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(slices.Clone(taints), func(x corev1.Taint) bool { return concerns(claim, record, IDOf(x)) })
	}
	if diff := cmp.Diff(foreign(current), foreign(got.Taints), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("foreign taints were dropped, reordered or edited: %s", diff)
	}
	for _, m := range record {
		if kept, ok := got.Record.Of(m.ID()); !claim.owns(m) && (!ok || kept != m) {
			t.Fatalf("the mark %+v of another owner became %+v", m, kept)
		}
	}
	if twice := Duplicates(got.Taints); len(twice) > 0 {
		t.Fatalf("%v stand in the list twice", twice)
	}
	if len(got.Conflicts) > 0 {
		if got.Changed {
			t.Fatalf("a merge with conflicts %v changes something", got.Conflicts)
		}
		return
	}
	again := Merge(got.Taints, got.Record, claim)
	if again.Changed || len(again.Conflicts) > 0 || len(again.Deviations) > 0 {
		t.Fatalf("merging its own result\n%s %s\nagain gives\n%s %s\n%+v %v", FormatAll(got.Taints), got.Record, FormatAll(again.Taints), again.Record, again.Conflicts, again.Deviations)
	}
	if claim.Release {
		if claim.Owns(got.Record) {
			t.Fatalf("after a release the record is %s", got.Record)
		}
		return
	}
	for _, x := range claim.Taints {
		if at := Find(got.Taints, IDOf(x)); at < 0 || got.Taints[at].Value != x.Value {
			t.Fatalf("%s is not in %s", Format(x), FormatAll(got.Taints))
		}
	}
	for _, id := range claim.Absent {
		if Find(got.Taints, id) >= 0 {
			t.Fatalf("%s is still in %s", id, FormatAll(got.Taints))
		}
	}
}

func TestMerge_keepsItsPromisesWhateverItIsGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkMerge(t, aList(t, "current", 6), aRecord(t), aClaim(t))
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		checkMerge(t, aList(t, "current", 6), aRecord(t), aClaim(t))
	}))
}

func TestMerge_doesNotDependOnTheOrderOfItsClaim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		current, record, claim := aList(t, "current", 6), aRecord(t), aClaim(t)
		other := claim
		other.Taints = rapid.Permutation(claim.Taints).Draw(t, "taints")
		other.Absent = rapid.Permutation(claim.Absent).Draw(t, "absent")
		a, b := Merge(current, record, claim), Merge(current, record, other)
		if a.Changed != b.Changed || a.Record.String() != b.Record.String() || len(a.Conflicts) != len(b.Conflicts) || len(a.TakenOver) != len(b.TakenOver) || !cmp.Equal(a.Deviations, b.Deviations) {
			t.Fatalf("%+v\n%+v", a, b)
		}
		// Entries from before keep their order; appended ones may differ.
		known := func(taints []corev1.Taint) []corev1.Taint {
			return slices.DeleteFunc(slices.Clone(taints), func(x corev1.Taint) bool { return Find(current, IDOf(x)) < 0 })
		}
		if diff := cmp.Diff(known(a.Taints), known(b.Taints)) + cmp.Diff(Sort(slices.Clone(a.Taints)), Sort(slices.Clone(b.Taints))); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestMerge_createThenReleaseGivesBackTheList(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		current, claim := aList(t, "current", 6), aClaim(t)
		claim.Release, claim.Adopt, claim.Imported = false, false, nil
		made := Merge(current, nil, claim)
		if len(made.Conflicts) > 0 {
			return
		}
		claim.Release = true
		back := Merge(made.Taints, made.Record, claim)
		if len(back.Record) > 0 {
			t.Fatalf("after the release the record is %s", back.Record)
		}
		removed := func(x corev1.Taint) bool { return slices.Contains(claim.Absent, IDOf(x)) }
		// Entries that were never removed keep their order and times of addition.
		want := slices.DeleteFunc(slices.Clone(current), removed)
		if diff := cmp.Diff(want, slices.DeleteFunc(slices.Clone(back.Taints), removed), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
		// Removed entries are back with their value, at the end of the list.
		sorted := func(taints []corev1.Taint) string { return FormatAll(Sort(slices.Clone(taints))) }
		if sorted(current) != sorted(back.Taints) {
			t.Fatalf("the list was %s and is %s", FormatAll(current), FormatAll(back.Taints))
		}
	})
}

func TestMerge_updatesOnTheWayLeaveNoTraceAfterARelease(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		current := aList(t, "current", 4)
		taints, record := current, Record(nil)
		for range rapid.IntRange(1, 4).Draw(t, "updates") {
			claim := aClaim(t)
			claim.Release, claim.Adopt, claim.Imported = false, false, nil
			step := Merge(taints, record, claim)
			taints, record = step.Taints, step.Record
		}
		back := Merge(taints, record, Claim{Owner: "me", Generation: "g2", Release: true})
		a, b := strings.Split(FormatAll(Sort(slices.Clone(current))), ", "), strings.Split(FormatAll(Sort(slices.Clone(back.Taints))), ", ")
		if diff := cmp.Diff(a, b); diff != "" || len(back.Record) > 0 {
			t.Fatalf("%s\nthe record is %s", diff, back.Record)
		}
	})
}
