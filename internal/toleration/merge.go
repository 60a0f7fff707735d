// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Claim is what one resource wants of one list of tolerations, and what it may
// call its own there. The zero claim wants nothing and owns nothing: merging it
// takes away what retires and is needed no more.
type Claim struct {
	// Owner and Generation are written into the marks.
	Owner      string
	Generation string
	// Path is where the list stands, empty for the one that is known for the
	// kind of object.
	Path string
	// Tolerations must be in the list.
	Tolerations []corev1.Toleration
	// TakeOver makes wanted entries of the same owner and another generation
	// ours, as a create does: an earlier create was killed, or the object is
	// being replaced by a new one.
	TakeOver bool
	// Imported holds the entries that were taken into the state without a write,
	// with the generations of their marks ("" for none).
	Imported map[ID][]string
	// Release gives up everything that is ours, as a destroy does.
	Release bool
}

// Conflict is a wanted entry that belongs to another resource.
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
	// TakenOver are entries of an earlier generation that the claim takes over.
	TakenOver []corev1.Toleration
	// Missing are the wanted entries that were not there, Retired the ones that
	// stay only because pods live by them, Removed the ones that went.
	Missing, Retired, Removed []corev1.Toleration
}

// Merge changes only what the claim owns in a list of tolerations: foreign
// entries and their order stay as they are, and new ones are appended. An entry
// that is not wanted any more goes, unless one of the live taints is tolerated
// by it alone: then it stays, marked as retiring. Retiring entries of anybody go
// once they are not needed. What a foreign entry covers is not written: it would
// restart pods for nothing.
//
// live are the taints that the workload's pods live with; none takes everything
// unwanted away at once. Merging again changes nothing.
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
	m.takeImported()
	m.retire(live)
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

// Owns says whether the record holds an entry of the claim.
func (c Claim) Owns(record Record) bool {
	return slices.ContainsFunc(record, c.owns)
}

// owns says whether a mark is ours.
func (c Claim) owns(mark Mark) bool {
	if mark.Path != c.Path || mark.Generation == "" {
		return false
	}
	if mark.Generation == c.Generation || c.TakeOver && mark.Owner == c.Owner && c.wants(mark.ID()) {
		return true
	}
	return slices.Contains(c.Imported[mark.ID()], mark.Generation)
}

func (c Claim) wants(id ID) bool {
	return !c.Release && slices.ContainsFunc(c.Tolerations, func(t corev1.Toleration) bool { return IDOf(t) == id })
}

func (m *merge) markOf(id ID) int {
	return slices.IndexFunc(m.marks, func(mark Mark) bool { return mark.ID() == id })
}

// foreign says whether the entry at this place carries no mark.
func (m *merge) foreign(at int) bool {
	return !slices.ContainsFunc(m.marks, func(mark Mark) bool { return find(m.list, mark.Toleration()) == at })
}

// put makes a toleration stand in the list.
func (m *merge) put(t corev1.Toleration) {
	mark := Mark{
		Key: t.Key, Operator: IDOf(t).Operator, Value: t.Value, Effect: t.Effect, Seconds: t.TolerationSeconds,
		Path: m.claim.Path, Owner: m.claim.Owner, Generation: m.claim.Generation,
	}
	at := m.markOf(IDOf(t))
	if at < 0 {
		m.putUnmarked(t, mark)
		return
	}
	old := m.marks[at]
	if !m.claim.owns(old) && !old.Retiring {
		m.conflicts = append(m.conflicts, Conflict{Toleration: t, Owner: old.Owner})
		m.missing = append(m.missing, t)
		return
	}
	if _, imported := m.claim.Imported[old.ID()]; !imported && old.Generation != m.claim.Generation {
		m.takenOver = append(m.takenOver, t)
	}
	place := find(m.list, old.Toleration())
	switch {
	case place < 0:
		m.list = append(m.list, t)
		m.missing = append(m.missing, t)
	case !Equal(m.list[place], t):
		m.list[place] = t
		m.missing = append(m.missing, t)
	}
	m.marks[at] = mark
}

// putUnmarked makes a toleration stand in the list that no mark is about.
func (m *merge) putUnmarked(t corev1.Toleration, mark Mark) {
	if _, imported := m.claim.Imported[IDOf(t)]; imported && Contains(m.list, t) {
		m.marks = append(m.marks, mark)
		return
	}
	for i := range m.list {
		if Covers(m.list[i], t) && m.foreign(i) {
			return
		}
	}
	m.list = append(m.list, t)
	m.marks = append(m.marks, mark)
	m.missing = append(m.missing, t)
}

// takeImported marks imported entries that carry no mark and are given up by a
// destroy, so that they are taken away like the others.
func (m *merge) takeImported() {
	if !m.claim.Release {
		return
	}
	for _, t := range slices.Clone(m.list) {
		generations, imported := m.claim.Imported[IDOf(t)]
		if imported && slices.Contains(generations, "") && m.markOf(IDOf(t)) < 0 {
			m.marks = append(m.marks, Mark{
				Key: t.Key, Operator: IDOf(t).Operator, Value: t.Value, Effect: t.Effect, Seconds: t.TolerationSeconds,
				Path: m.claim.Path, Owner: m.claim.Owner, Generation: m.claim.Generation,
			})
		}
	}
}

// beyondImport returns the marks that are worth a write: those of imported
// entries that stay wanted are written with the next change, so that an import
// touches nothing.
func (m *merge) beyondImport(record Record) Record {
	return slices.DeleteFunc(slices.Clone(record), func(mark Mark) bool {
		_, imported := m.claim.Imported[mark.ID()]
		return imported && mark.Path == m.claim.Path && m.claim.wants(mark.ID())
	})
}

// retire takes away what is unwanted, or marks it as retiring where a live
// taint is tolerated by it alone.
func (m *merge) retire(live []corev1.Taint) {
	var unwanted []Mark
	for _, mark := range m.marks {
		if mark.Retiring || m.claim.owns(mark) && !m.claim.wants(mark.ID()) {
			unwanted = append(unwanted, mark)
		}
	}
	if len(unwanted) == 0 {
		return
	}
	needed := m.needed(unwanted, live)
	for _, mark := range unwanted {
		at := slices.Index(m.marks, mark)
		switch place := find(m.list, mark.Toleration()); {
		case place >= 0 && needed[place]:
			m.marks[at].Retiring = true
			m.retired = append(m.retired, mark.Toleration())
		case place >= 0:
			m.list = slices.Delete(m.list, place, place+1)
			m.marks = slices.Delete(m.marks, at, at+1)
			m.removed = append(m.removed, mark.Toleration())
			needed = shift(needed, place)
		default:
			m.marks = slices.Delete(m.marks, at, at+1)
		}
	}
}

// needed says which places of the list hold an unwanted entry that decides
// about a live taint which the wanted ones tolerate for a shorter time or not
// at all. PreferNoSchedule keeps nobody away.
func (m *merge) needed(unwanted []Mark, live []corev1.Taint) map[int]bool {
	places := map[int]bool{}
	for _, mark := range unwanted {
		places[find(m.list, mark.Toleration())] = true
	}
	var wanted []corev1.Toleration
	for i, t := range m.list {
		if !places[i] {
			wanted = append(wanted, t)
		}
	}
	needed := map[int]bool{}
	for _, t := range live {
		at := taint.FirstMatch(m.list, t, m.comparison)
		if t.Effect != corev1.TaintEffectPreferNoSchedule && places[at] && Lasts(m.list, t, m.comparison) > Lasts(wanted, t, m.comparison) {
			needed[at] = true
		}
	}
	return needed
}

// shift moves the places that come after one that was taken away.
func shift(places map[int]bool, removed int) map[int]bool {
	out := make(map[int]bool, len(places))
	for place := range places {
		if place > removed {
			place--
		}
		out[place] = true
	}
	return out
}

// Without returns a list without the entries of another one: what admission and
// controllers added to a pod beyond its template.
func Without(list, template []corev1.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	for _, t := range list {
		if !Contains(template, t) {
			out = append(out, t)
		}
	}
	return out
}

// Format writes tolerations for a reader, sorted.
func Format(list []corev1.Toleration) string {
	out := make([]string, len(list))
	for i, t := range Sort(slices.Clone(list)) {
		out[i] = taint.FormatToleration(t)
	}
	return strings.Join(out, ", ")
}
