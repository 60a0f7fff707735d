// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Generators are made where they are used: rapid caches a generator's name
// without a lock, so that tests cannot share one. Keys, values and seconds are
// few, so that entries meet.
func aToleration() *rapid.Generator[corev1.Toleration] {
	return rapid.Custom(func(t *rapid.T) corev1.Toleration {
		out := corev1.Toleration{
			Key:      rapid.SampledFrom([]string{"a", "a", "b", ""}).Draw(t, "key"),
			Operator: rapid.SampledFrom([]corev1.TolerationOperator{"Equal", "", "Exists", "Lt", "Gt"}).Draw(t, "operator"),
			Effect:   rapid.SampledFrom([]corev1.TaintEffect{"NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule", ""}).Draw(t, "effect"),
		}
		if out.Key == "" {
			out.Operator = corev1.TolerationOpExists
		}
		if out.Operator != corev1.TolerationOpExists {
			out.Value = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
		}
		if out.Effect == corev1.TaintEffectNoExecute && rapid.Bool().Draw(t, "for a time") {
			n := rapid.SampledFrom([]int64{-1, 0, 30, 60}).Draw(t, "seconds")
			out.TolerationSeconds = &n
		}
		return out
	})
}

func aTaint() *rapid.Generator[corev1.Taint] {
	return rapid.Custom(func(t *rapid.T) corev1.Taint {
		return corev1.Taint{
			Key:    rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"),
			Value:  rapid.SampledFrom([]string{"", "1", "2", "3"}).Draw(t, "value"),
			Effect: rapid.SampledFrom([]corev1.TaintEffect{"NoExecute", "NoExecute", "NoSchedule", "PreferNoSchedule"}).Draw(t, "effect"),
		}
	})
}

func aList(t *rapid.T, label string) []corev1.Toleration {
	return rapid.SliceOfN(aToleration(), 0, 5).Draw(t, label)
}

func wishes(t *rapid.T, label string) []corev1.Toleration {
	return rapid.SliceOfNDistinct(aToleration(), 0, 3, IDOf).Draw(t, label)
}

func someLive(t *rapid.T, label string) []corev1.Taint {
	return rapid.SliceOfN(aTaint(), 0, 4).Draw(t, label)
}

func aRecord(t *rapid.T) Record {
	type place struct {
		ID
		path string
	}
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Mark {
		return aMark(t, aToleration().Draw(t, "marked"))
	}), 0, 4, func(m Mark) place { return place{m.ID(), m.Path} }).Draw(t, "record")
}

func aMark(t *rapid.T, x corev1.Toleration) Mark {
	return Mark{
		Key: x.Key, Operator: IDOf(x).Operator, Value: x.Value, Effect: x.Effect, Seconds: x.TolerationSeconds,
		Path:       rapid.SampledFrom([]string{"", "", "", "spec.tolerations"}).Draw(t, "path"),
		Owner:      rapid.SampledFrom([]string{"me", "other"}).Draw(t, "owner"),
		Generation: rapid.SampledFrom([]string{"g1", "g2", "g3"}).Draw(t, "generation"),
		Retiring:   rapid.Float64Range(0, 1).Draw(t, "retiring") < 0.3,
	}
}

// known are seals that prove every mark, and none of these.
var known = [][]record.Seal{{{}}, {{Nonce: "unknown"}}}

// aWorld is a list, a record in which most marks are about entries of the list,
// and a claim.
func aWorld(t *rapid.T) ([]corev1.Toleration, Record, Claim) {
	list, record := aList(t, "list"), aRecord(t)
	for _, x := range list {
		if m := aMark(t, x); rapid.Bool().Draw(t, "marked") && !slices.ContainsFunc(record, func(one Mark) bool { return one.ID() == m.ID() && one.Path == m.Path }) {
			record = append(record, m)
		}
	}
	c := Claim{
		Named: rapid.SliceOfN(rapid.Map(aTaint(), taint.IDOf), 0, 2).Draw(t, "named"),
		Known: rapid.SampledFrom(known).Draw(t, "known"),
		Owner: "me", Generation: "g2", Tolerations: wishes(t, "wanted"), TakeOver: rapid.Bool().Draw(t, "take over"),
		Release: rapid.Float64Range(0, 1).Draw(t, "release") < 0.2, Imported: map[ID][]string{},
	}
	for _, x := range rapid.SliceOfN(aToleration(), 0, 2).Draw(t, "imported") {
		c.Imported[IDOf(x)] = []string{rapid.SampledFrom([]string{"", "", "g1"}).Draw(t, "imported generation")}
	}
	return list, record, c
}

// foreign returns the entries that are not owned, in their order: those without a
// mark at the claim's path that the claim has not imported.
func foreign(list []corev1.Toleration, record Record, c Claim) []corev1.Toleration {
	taken := map[int]bool{}
	for _, m := range record {
		if m.Path == c.Path {
			taken[stands(list, m)] = true
		}
	}
	var out []corev1.Toleration
	for i, x := range list {
		if !taken[i] && !slices.Contains(c.Imported[IDOf(x)], "") {
			out = append(out, x)
		}
	}
	return out
}

// sameForeign compares the foreign entries of two lists. Which of two equal
// entries is the foreign one cannot be told, so that their place is left open.
func sameForeign(t interface{ Fatalf(string, ...any) }, list []corev1.Toleration, record Record, got Merged, claim Claim) {
	before, after := foreign(list, record, claim), foreign(got.Tolerations, got.Record, claim)
	sameTolerations(t, "foreign tolerations were dropped or edited", Sort(slices.Clone(before)), Sort(slices.Clone(after)))
	doubtful := func(x corev1.Toleration) bool {
		return Contains(claim.Tolerations, x) || slices.ContainsFunc(record, func(m Mark) bool { return m.ID() == IDOf(x) })
	}
	sameTolerations(t, "foreign tolerations were reordered", slices.DeleteFunc(before, doubtful), slices.DeleteFunc(after, doubtful))
}

func sameTolerations(t interface{ Fatalf(string, ...any) }, what string, want, got []corev1.Toleration) {
	if diff := cmp.Diff(write(want), write(got), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: %s", what, diff)
	}
}

func checkMerge(t interface{ Fatalf(string, ...any) }, list []corev1.Toleration, record Record, claim Claim, live []corev1.Taint, gate bool) {
	got := Merge(list, record, claim, live, gate)
	if len(got.Conflicts) > 0 {
		if got.Changed || got.Template {
			t.Fatalf("a merge with conflicts %v changes something", got.Conflicts)
		}
		return
	}
	sameForeign(t, list, record, got, claim)
	for _, m := range record {
		if m.Path == claim.Path && (m.Retiring || claim.owns(m)) {
			continue
		}
		if !slices.Contains(got.Record, m) || m.Path == claim.Path && Contains(list, m.Toleration()) != Contains(got.Tolerations, m.Toleration()) {
			t.Fatalf("the entry or the mark of another owner is gone: %+v in %v", m, writeMarks(got.Record))
		}
	}
	if got.Template == slices.EqualFunc(list, got.Tolerations, Equal) || got.Template && !got.Changed {
		t.Fatalf("changed %t and template %t: %v became %v", got.Changed, got.Template, write(list), write(got.Tolerations))
	}
	again := Merge(got.Tolerations, got.Record, claim, live, gate)
	if again.Changed || len(again.Conflicts)+len(again.Missing)+len(again.TakenOver)+len(again.Removed) > 0 && got.Changed {
		t.Fatalf("merging its own result\n%v %v\nagain gives\n%v %v\n%+v", write(got.Tolerations), writeMarks(got.Record), write(again.Tolerations), writeMarks(again.Record), again)
	}
	if !claim.Release {
		for _, x := range claim.Tolerations {
			if !Contains(got.Tolerations, x) && !CoveredBy(foreign(got.Tolerations, got.Record, Claim{}), x) {
				t.Fatalf("%s is not in %v", taint.FormatToleration(x), write(got.Tolerations))
			}
		}
	}
	checkLive(t, list, got, claim, live, gate)
}

// checkLive holds that no live taint is tolerated for a shorter time than before,
// unless the claim asks for it, and that nothing retires for nothing.
func checkLive(t interface{ Fatalf(string, ...any) }, list []corev1.Toleration, got Merged, claim Claim, live []corev1.Taint, gate bool) {
	asked := slices.Clone(list)
	if !claim.Release {
		for _, x := range claim.Tolerations {
			for i := range asked {
				if IDOf(asked[i]) == IDOf(x) && lasting(x) < lasting(asked[i]) {
					asked[i] = x
				}
			}
		}
	}
	for _, x := range live {
		before := min(Lasts(list, x, gate), Lasts(asked, x, gate))
		if after := Lasts(got.Tolerations, x, gate); after < before && x.Effect != corev1.TaintEffectPreferNoSchedule {
			t.Fatalf("%s was tolerated for %d seconds by %v and is for %d by %v", taint.Format(x), before, write(list), after, write(got.Tolerations))
		}
	}
	for _, m := range got.Record {
		if !m.Retiring || m.Path != claim.Path || !claim.owns(m) && !claim.retained(m) {
			continue
		}
		at := stands(got.Tolerations, m)
		decides := func(x corev1.Taint) bool {
			return x.Effect != corev1.TaintEffectPreferNoSchedule && taint.FirstMatch(got.Tolerations, x, gate) == at
		}
		if at < 0 || !slices.ContainsFunc(live, decides) {
			t.Fatalf("%s retires, and no live taint needs it: %v", taint.FormatToleration(m.Toleration()), write(got.Tolerations))
		}
	}
	others := func(m Mark) bool { return m.Path != claim.Path || !claim.owns(m) && !claim.retained(m) }
	if len(live) == 0 && Retiring(slices.DeleteFunc(slices.Clone(got.Record), others)) {
		t.Fatalf("nothing lives and something retires: %v", writeMarks(got.Record))
	}
}

func TestMerge_keepsItsPromisesWhateverItIsGiven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, record, claim := aWorld(t)
		checkMerge(t, list, record, claim, someLive(t, "live"), rapid.Bool().Draw(t, "gate"))
	})
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		list, record, claim := aWorld(t)
		checkMerge(t, list, record, claim, someLive(t, "live"), rapid.Bool().Draw(t, "gate"))
	}))
}

func TestMerge_doesNotDependOnTheOrderOfItsClaim(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, record, claim := aWorld(t)
		// Among new entries the first one that matches decides, so that their order
		// can make a difference to what live taints need.
		other := claim
		other.Tolerations = rapid.Permutation(claim.Tolerations).Draw(t, "order")
		a, b := Merge(list, record, claim, nil, true), Merge(list, record, other, nil, true)
		sameTolerations(t, "all", Sort(slices.Clone(a.Tolerations)), Sort(slices.Clone(b.Tolerations)))
		if a.Changed != b.Changed || a.Record.String() != b.Record.String() || len(a.Conflicts) != len(b.Conflicts) || len(a.TakenOver) != len(b.TakenOver) {
			t.Fatalf("%+v\n%+v", a, b)
		}
	})
}

func TestMerge_releaseWithoutLiveTaintsLeavesTheForeignEntries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, made := aList(t, "list"), wishes(t, "wanted")
		var record Record
		// Several updates by two resources, with whatever lives meanwhile.
		current := list
		for range rapid.IntRange(0, 4).Draw(t, "updates") {
			claim := Claim{Owner: "me", Generation: "g2", Tolerations: made}
			if rapid.Bool().Draw(t, "of the other") {
				claim.Owner, claim.Generation = "other", "g1"
			}
			step := Merge(current, record, claim, someLive(t, "live"), true)
			current, record = step.Tolerations, step.Record
			made = wishes(t, "wanted next")
		}
		for _, claim := range []Claim{{Owner: "me", Generation: "g2", Release: true}, {Owner: "other", Generation: "g1", Release: true}} {
			step := Merge(current, record, claim, nil, true)
			current, record = step.Tolerations, step.Record
		}
		sameTolerations(t, "after the releases", list, current)
		if len(record) > 0 {
			t.Fatalf("the record is %v", writeMarks(record))
		}
	})
}

func TestMerge_expandThenContractEndsWithWhatIsWanted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, gate := aList(t, "foreign"), rapid.Bool().Draw(t, "gate")
		// A taint changes its value, and the tolerations follow it.
		hard := aTaint().Filter(func(x corev1.Taint) bool { return x.Effect != corev1.TaintEffectPreferNoSchedule })
		before, after := hard.Draw(t, "before"), hard.Draw(t, "after")
		old := append(wishes(t, "old"), taint.TolerationFor(before))
		next := append(wishes(t, "next"), taint.TolerationFor(after))
		for _, list := range []*[]corev1.Toleration{&old, &next} {
			last := (*list)[len(*list)-1]
			*list = append(slices.DeleteFunc((*list)[:len(*list)-1], func(x corev1.Toleration) bool { return IDOf(x) == IDOf(last) }), last)
		}
		claim := Claim{Owner: "me", Generation: "g2", Tolerations: old}
		first := Merge(list, nil, claim, nil, gate)
		claim.Tolerations = next
		expanded := Merge(first.Tolerations, first.Record, claim, []corev1.Taint{before}, gate)
		// By the taint before, the pods live as long as with the old ones, unless
		// the same entry is wanted for a shorter time.
		if Lasts(expanded.Tolerations, before, gate) < min(Lasts(first.Tolerations, before, gate), shortest(next)) {
			t.Fatalf("%s: %v became %v", taint.Format(before), write(first.Tolerations), write(expanded.Tolerations))
		}
		contracted := Merge(expanded.Tolerations, expanded.Record, claim, []corev1.Taint{after}, gate)
		// One more step, once the pods no longer need to tolerate the taint, leaves
		// only wanted entries.
		end := Merge(contracted.Tolerations, contracted.Record, claim, nil, gate)
		var wanted []corev1.Toleration
		for _, x := range next {
			marked := slices.ContainsFunc(first.Record, func(m Mark) bool { return m.ID() == IDOf(x) })
			if marked || !CoveredBy(list, x) {
				wanted = append(wanted, x)
			}
		}
		sameTolerations(t, "the foreign ones", list, foreign(end.Tolerations, end.Record, Claim{}))
		sameTolerations(t, "the others", Sort(wanted), Sort(slices.Clone(end.Tolerations[len(list):])))
		if Lasts(contracted.Tolerations, after, gate) < Lasts(expanded.Tolerations, after, gate) {
			t.Fatalf("%s: %v became %v", taint.Format(after), write(expanded.Tolerations), write(contracted.Tolerations))
		}
	})
}

func shortest(list []corev1.Toleration) int64 {
	out := Forever
	for _, x := range list {
		out = min(out, lasting(x))
	}
	return out
}

func TestMerge_ofAnExchangeByOneStepLeavesNoTrace(t *testing.T) {
	t.Parallel()
	old, next := taints(t, "dedicated=gpu:NoExecute"), taints(t, "dedicated=tpu:NoExecute")
	list := tols(t, "z Exists", "node.kubernetes.io/unreachable Exists:NoExecute for 300s")
	claim := want(t, "dedicated=gpu:NoExecute")
	made := Merge(list, nil, claim, old, false)
	claim.Tolerations = tols(t, "dedicated=tpu:NoExecute")
	expanded := Merge(made.Tolerations, made.Record, claim, old, false)
	equal(t, "expanded", []string{"z Exists", "node.kubernetes.io/unreachable Exists:NoExecute for 300s", "dedicated=gpu:NoExecute", "dedicated=tpu:NoExecute"}, write(expanded.Tolerations))
	contracted := Merge(expanded.Tolerations, expanded.Record, claim, next, false)
	equal(t, "contracted", []string{"z Exists", "node.kubernetes.io/unreachable Exists:NoExecute for 300s", "dedicated=tpu:NoExecute"}, write(contracted.Tolerations))
	equal(t, "record", []string{"dedicated=tpu:NoExecute of me/g2"}, writeMarks(contracted.Record))
}

func TestCovers_lastsAtLeastAsLongForEveryTaint(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b, gate := aToleration().Draw(t, "one"), aToleration().Draw(t, "other"), rapid.Bool().Draw(t, "gate")
		if !Covers(a, b) {
			return
		}
		x := aTaint().Draw(t, "taint")
		if one, other := Lasts([]corev1.Toleration{a}, x, gate), Lasts([]corev1.Toleration{b}, x, gate); one < other {
			t.Fatalf("%s covers %s, yet they tolerate %s for %d and %d seconds", taint.FormatToleration(a), taint.FormatToleration(b), taint.Format(x), one, other)
		}
	})
}

func TestShadowing_meansThatAnEarlierEntryDecides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		list, of := aList(t, "list"), aToleration().Draw(t, "of")
		shadow := Shadowing(list, of)
		if shadow == nil {
			return
		}
		at := slices.IndexFunc(list, func(x corev1.Toleration) bool { return Equal(x, *shadow) })
		x := aTaint().Draw(t, "taint")
		if taint.Tolerates(of, x, true) && taint.FirstMatch(list, x, true) > at {
			t.Fatalf("%s is said to decide about %s before %s in %v", taint.FormatToleration(*shadow), taint.Format(x), taint.FormatToleration(of), write(list))
		}
		if lasting(*shadow) == lasting(of) {
			t.Fatalf("%s lasts as long as %s", taint.FormatToleration(*shadow), taint.FormatToleration(of))
		}
	})
}
