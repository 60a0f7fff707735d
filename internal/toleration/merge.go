// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Claim is what one resource wants of one list of tolerations, and what it may
// call its own there. The zero claim wants nothing and owns nothing.
type Claim struct {
	// Owner and Generation are written into the marks.
	Owner      string
	Generation string
	// Seal proves marks. An entry that is not wanted is owned only by a mark with a proof.
	Seal record.Seal
	// Path is where the list stands, empty for the one that is known for the
	// kind of object.
	Path string
	// Tolerations must be in the list.
	Tolerations []corev1.Toleration
	// TakeOver makes the claim own wanted entries of the same owner and another
	// generation, as a create does: an earlier create was killed, or the object is
	// being replaced by a new one.
	TakeOver bool
	// Imported holds the entries that were taken into the state without a write,
	// with the generations of their marks ("" for none).
	Imported map[ID][]string
	// Release gives up all owned entries, as a destroy does.
	Release bool
	// Named are taints that a configuration or a state names: what tolerates one of them by
	// its key and retires goes when it is needed no more, whatever resource has left it, if one of Known
	// proves its mark. A mark alone has nothing removed, as others can write it.
	Named []taint.ID
	// Known are the seals of resources that may have left what retires, whatever their Object.
	Known []record.Seal
}

// Conflict is a wanted entry that is owned by another resource.
type Conflict struct {
	Toleration corev1.Toleration
	Owner      string
}

// Merged is the outcome of a merge.
type Merged struct {
	// Tolerations and Record are the list and the record to write.
	Tolerations []corev1.Toleration
	Record      Record
	// Changed is false where nothing needs to be written, Template where only
	// the record does.
	Changed, Template bool
	// Conflicts make the whole merge void: nothing may be written.
	Conflicts []Conflict
	// TakenOver are entries of an earlier generation that the claim adopts, without
	// retiring ones: no resource needs to keep these.
	TakenOver []corev1.Toleration
	// Missing are the wanted entries that were not there, Retired those kept only
	// because a taint needs them, Removed those that were removed.
	Missing, Retired, Removed []corev1.Toleration
}

// Merge changes only what the claim owns in a list of tolerations: foreign
// entries and their order stay as they are, and new ones are appended. An entry
// that is not wanted any more is removed, unless one of the live taints would be
// tolerated for a shorter time without it: then it is kept, and its mark is retiring.
// Retiring entries of others stay, but for those of the claim's named taints whose resource
// is known. An entry that a foreign one covers is not written: it would restart pods for nothing.
//
// live are the taints of the nodes that the workload's pods run on; without any, all
// unwanted entries are removed immediately. Merging again changes nothing.
func Merge(list []corev1.Toleration, record Record, claim Claim, live []corev1.Taint, comparison bool) Merged {
	m := &merge{claim: claim, list: slices.Clone(list), comparison: comparison}
	for _, mark := range record {
		if mark.Path == claim.Path {
			m.marks = append(m.marks, mark)
		} else {
			m.others = append(m.others, mark)
		}
	}
	if !claim.Release {
		for _, t := range claim.Tolerations {
			m.put(t)
		}
	}
	m.retire(live)
	// An imported entry may become free to take only when a mark of its identity is removed.
	for m.takeImported() {
		m.retire(live)
	}
	out := Merged{
		Tolerations: m.list, Record: slices.Concat(m.others, m.marks),
		Conflicts: m.conflicts, TakenOver: m.takenOver, Missing: m.missing, Retired: m.retired, Removed: m.removed,
	}
	out.Template = !slices.EqualFunc(list, out.Tolerations, Equal)
	out.Changed = out.Template || m.beyondImport(out.Record).String() != m.beyondImport(record).String()
	if !out.Changed || len(m.conflicts) > 0 {
		out.Tolerations, out.Record, out.Changed, out.Template = list, record, false, false
	}
	return out
}

type merge struct {
	claim      Claim
	comparison bool
	list       []corev1.Toleration
	marks      []Mark // of the claim's path
	others     []Mark // of other paths
	conflicts  []Conflict
	takenOver  []corev1.Toleration
	missing    []corev1.Toleration
	retired    []corev1.Toleration
	removed    []corev1.Toleration
}

// On is the claim to the entries of one object, such as Node/worker-1.
func (c Claim) On(object string) Claim {
	c.Seal = c.Seal.On(object)
	return c
}

// Owns reports whether the record holds an entry of the claim. A record has nothing
// on entries without a mark that a release gives up: on an object that the claim does
// not name they are not known to be owned.
func (c Claim) Owns(record Record) bool {
	return slices.ContainsFunc(record, c.owns)
}

// unmarked reports whether an entry without a mark is owned, because it was imported like that and
// the import has seen it on this object.
func (c Claim) unmarked(id ID) bool {
	return slices.Contains(c.Imported[id], "") && c.Seal.Saw(id.Unmarked(c.Path))
}

// owns reports whether the claim owns the entry of a mark.
func (c Claim) owns(mark Mark) bool {
	owner := record.Owner{ID: c.Owner, Generation: c.Generation, TakeOver: c.TakeOver && !c.Release, Proves: func(record.Sealed) bool { return c.proves(mark) }, Saw: c.Seal.Saw}
	return mark.Path == c.Path && owner.Owns(record.Written{Owner: mark.Owner, Generation: mark.Generation}, c.names(mark.ID()), c.Imported[mark.ID()], mark.Sealed)
}

func (c Claim) wants(id ID) bool {
	return !c.Release && c.names(id)
}

// names reports whether configuration or state name an entry.
func (c Claim) names(id ID) bool {
	return slices.ContainsFunc(c.Tolerations, func(t corev1.Toleration) bool { return IDOf(t) == id })
}

// retained reports whether a mark is of an entry that retires and tolerates one of the named taints,
// and that a resource which is known has left there.
func (c Claim) retained(mark Mark) bool {
	return mark.Retiring && slices.ContainsFunc(c.Named, func(id taint.ID) bool {
		return mark.Key == id.Key && (mark.Effect == "" || mark.Effect == id.Effect)
	}) && slices.ContainsFunc(c.Known, func(known record.Seal) bool {
		return known.On(c.Seal.Object).Proves(mark.Sealed())
	})
}

func (m *merge) markOf(id ID) int {
	return slices.IndexFunc(m.marks, func(mark Mark) bool { return mark.ID() == id })
}

// foreign reports whether the entry at this place is not owned: it has no mark,
// and gets none for being imported.
func (m *merge) foreign(at int) bool {
	if id := IDOf(m.list[at]); m.claim.unmarked(id) && m.claim.wants(id) {
		return false
	}
	return !slices.ContainsFunc(m.marks, func(mark Mark) bool { return stands(m.list, mark) == at })
}

// stands returns the place of the marked entry, or -1. Where the list does not have
// it as it was written, the last one of its identity counts: another writer has changed
// its seconds. Appending the wanted entry would have no effect, as the first match
// decides.
func stands(list []corev1.Toleration, mark Mark) int {
	if at := find(list, mark.Toleration()); at >= 0 || mark.Beside {
		return at
	}
	for at, one := range slices.Backward(list) {
		if IDOf(one) == mark.ID() {
			return at
		}
	}
	return -1
}

// covered reports whether a foreign entry covers a toleration.
func (m *merge) covered(t corev1.Toleration) bool {
	for i := range m.list {
		if Covers(m.list[i], t) && m.foreign(i) {
			return true
		}
	}
	return false
}

// mark returns the claim's own mark of a toleration.
func (c Claim) mark(t corev1.Toleration) Mark {
	mark := Mark{
		Key: t.Key, Operator: IDOf(t).Operator, Value: t.Value, Effect: t.Effect, Seconds: t.TolerationSeconds,
		Path: c.Path, Owner: c.Owner, Generation: c.Generation,
	}
	mark.Proof = c.Seal.Proof(mark.Sealed().Parts...)
	return mark
}

// put adds a toleration to the list, or corrects the entry that is there for it.
func (m *merge) put(t corev1.Toleration) {
	at := m.markOf(IDOf(t))
	if at < 0 {
		m.putUnmarked(t)
		return
	}
	old := m.marks[at]
	if !m.claim.owns(old) && !old.Retiring {
		m.conflicts = append(m.conflicts, Conflict{Toleration: t, Owner: old.Owner})
		m.missing = append(m.missing, t)
		return
	}
	place := stands(m.list, old)
	if place < 0 && m.covered(t) {
		// Another writer replaced it by more: its writer owns that now.
		m.marks = slices.Delete(m.marks, at, at+1)
		return
	}
	if _, imported := m.claim.Imported[old.ID()]; !imported && !old.Retiring && old.Generation != m.claim.Generation {
		m.takenOver = append(m.takenOver, t)
	}
	switch {
	case place < 0:
		m.list = append(m.list, t)
		m.missing = append(m.missing, t)
	case !Equal(m.list[place], t):
		m.list[place] = t
		m.missing = append(m.missing, t)
	}
	mark := m.claim.mark(t)
	mark.Beside, mark.Proof = old.Beside, old.Proof
	mark.Proof = m.claim.Seal.Renew(mark.Sealed())
	m.marks[at] = mark
}

// putUnmarked adds a toleration that has no mark to the list.
func (m *merge) putUnmarked(t corev1.Toleration) {
	place, mark := -1, m.claim.mark(t)
	if m.claim.unmarked(IDOf(t)) {
		place = m.imported(t)
	}
	switch {
	case place >= 0 && Equal(m.list[place], t):
	case place >= 0:
		m.list[place] = t
		m.missing = append(m.missing, t)
	case m.covered(t):
		return
	default:
		mark.Beside = slices.ContainsFunc(m.list, func(one corev1.Toleration) bool { return IDOf(one) == IDOf(t) })
		m.list = append(m.list, t)
		m.missing = append(m.missing, t)
	}
	m.marks = append(m.marks, mark)
}

// imported returns the place of the entry that was taken into the state and is
// to be this one: the same, or the last that differs from it in seconds alone.
func (m *merge) imported(t corev1.Toleration) int {
	if at := find(m.list, t); at >= 0 {
		return at
	}
	for i, one := range slices.Backward(m.list) {
		if IDOf(one) == IDOf(t) {
			return i
		}
	}
	return -1
}

// takeImported adds marks for imported entries without one that a destroy gives
// up, so that they are removed like the others. Of several that are the same only
// the first one ever decides: the others are removed. An entry whose seconds differ
// from those in the state is another owner's.
func (m *merge) takeImported() bool {
	if !m.claim.Release {
		return false
	}
	taken := map[ID]bool{}
	m.list = slices.DeleteFunc(m.list, func(t corev1.Toleration) bool {
		id := IDOf(t)
		switch {
		case !m.claim.unmarked(id) || !m.claim.holds(t):
			// Another owner's.
		case taken[id]:
			m.removed = append(m.removed, t)
			return true
		case m.markOf(id) < 0:
			m.marks = append(m.marks, m.claim.mark(t))
			taken[id] = true
		}
		return false
	})
	return len(taken) > 0
}

// holds reports whether an entry is as in the state, as far as the state has one.
func (c Claim) holds(t corev1.Toleration) bool {
	told := false
	for _, one := range c.Tolerations {
		if Equal(one, t) {
			return true
		}
		told = told || IDOf(one) == IDOf(t)
	}
	return !told
}

// beyondImport returns the marks that are worth a write: those of imported
// entries that stay wanted are written with the next change, so that an import
// touches nothing. One that the import has not seen is no mark of the resource, and one that retires is worth a write, or the next to come by
// would take the entry away.
func (m *merge) beyondImport(record Record) Record {
	return slices.DeleteFunc(slices.Clone(record), func(mark Mark) bool {
		_, imported := m.claim.Imported[mark.ID()]
		seen := mark.Generation == m.claim.Generation || m.claim.Seal.Saw(mark.Sealed())
		return imported && seen && mark.Path == m.claim.Path && m.claim.wants(mark.ID()) && !mark.Retiring
	})
}

// retire takes away what is unwanted, or marks it as retiring where a live taint
// would be tolerated for a shorter time without it. It goes from the end to the
// beginning: an entry whose place in front of a shorter one matters is asked for
// only when it is known whether the shorter one stays. So as many go as can.
func (m *merge) retire(live []corev1.Taint) {
	var unwanted []Mark
	for _, mark := range m.marks {
		if m.claim.owns(mark) && !m.claim.wants(mark.ID()) || m.claim.retained(mark) {
			unwanted = append(unwanted, mark)
		}
	}
	slices.SortStableFunc(unwanted, func(a, b Mark) int {
		return cmp.Compare(stands(m.list, b), stands(m.list, a))
	})
	before := m.list
	var retired, removed []corev1.Toleration
	for _, mark := range unwanted {
		at, place := slices.Index(m.marks, mark), stands(m.list, mark)
		if place >= 0 {
			without := slices.Delete(slices.Clone(m.list), place, place+1)
			if m.shorter(without, before, live) {
				m.marks[at].Retiring = true
				if m.claim.owns(mark) {
					// An imported one is found again by these alone.
					m.marks[at].Owner, m.marks[at].Generation = m.claim.Owner, m.claim.Generation
					m.marks[at].Proof = m.claim.Seal.Renew(m.marks[at].Sealed())
				}
				retired = append(retired, m.list[place])
				continue
			}
			removed = append(removed, m.list[place])
			m.list = without
		}
		m.marks = slices.Delete(m.marks, at, at+1)
	}
	slices.Reverse(retired)
	slices.Reverse(removed)
	m.retired, m.removed = retired, append(m.removed, removed...)
}

// shorter reports whether a list tolerates one of the live taints for a shorter
// time than another list does. PreferNoSchedule keeps no pod away.
func (m *merge) shorter(list, than []corev1.Toleration, live []corev1.Taint) bool {
	return slices.ContainsFunc(live, func(t corev1.Taint) bool {
		return t.Effect != corev1.TaintEffectPreferNoSchedule && Lasts(list, t, m.comparison) < Lasts(than, t, m.comparison)
	})
}
