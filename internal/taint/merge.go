// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Claim is what one resource wants of one list of taints, and what it may call
// its own there.
type Claim struct {
	// Owner and Generation are written into the marks.
	Owner      string
	Generation string
	// Seal proves marks. An entry that is not wanted is owned by a mark with a proof alone.
	Seal record.Seal
	// Taints must be in the list, Absent must not.
	Taints []corev1.Taint
	Absent []ID
	// Adopt adopts existing entries without any mark.
	Adopt bool
	// TakeOver makes wanted entries of the same owner and another generation
	// owned, as a create does: an earlier create was killed, or the object is
	// being replaced by a new one. Entries that are not wanted are never
	// adopted: a resource keeps its id when it is changed, so that one with this id
	// may want other entries by now.
	TakeOver bool
	// Imported holds entries that were taken into the state without a write,
	// with the generations of the marks that they carried ("" for none); nodes
	// may differ in that.
	Imported map[ID][]string
	// Release gives up everything that is owned, imported entries without a mark
	// included, as a destroy does.
	Release bool
	// Kept are entries that stay where they are given up, since another writer would restore them.
	Kept []ID
}

// Status reports how an entry differs from what a claim wants.
type Status string

// The two ways in which an entry can differ.
const (
	Missing   Status = "missing"
	Different Status = "different"
)

// Conflict is an entry that a claim wants and that is not owned to change.
type Conflict struct {
	ID ID
	// Owner is the owner by the record, "" where the entry has no mark.
	Owner string
	// Value is the value that stands there now.
	Value string
}

// Merged is the outcome of a merge.
type Merged struct {
	// Taints and Record are the list and the record to write.
	Taints []corev1.Taint
	Record Record
	// Changed is false where nothing needs to be written.
	Changed bool
	// Conflicts make the whole merge void: nothing may be written.
	Conflicts []Conflict
	// TakenOver are entries of an earlier generation that the claim adopts.
	TakenOver []ID
	// Deviations are the entries that are out of sync, before the merge.
	Deviations map[ID]Status
}

// Merge changes only what the claim owns in a list of taints: foreign entries,
// their order and their timeAdded stay as they are. Merging again changes
// nothing, and the order of the claim's entries does not matter beyond the
// place of new ones, which are appended.
func Merge(current []corev1.Taint, record Record, claim Claim) Merged {
	m := &merge{claim: claim, taints: slices.Clone(current), marks: make(map[ID]Mark, len(record)), deviations: map[ID]Status{}}
	believed := make(Record, len(record))
	for i, mark := range record {
		believed[i] = claim.believe(mark)
		m.marks[mark.ID()] = believed[i]
	}
	m.retire(believed, m.wanted())
	if claim.Release {
		m.release()
	} else {
		for _, t := range claim.Taints {
			m.put(t)
		}
		for _, id := range claim.Absent {
			m.drop(id)
		}
	}
	merged := Merged{
		Taints: m.taints, Record: slices.Collect(maps.Values(m.marks)), Changed: m.changed,
		Conflicts: m.conflicts, TakenOver: m.takenOver, Deviations: m.deviations,
	}
	if !m.changed || len(m.conflicts) > 0 {
		merged.Taints, merged.Record, merged.Changed = current, record, false
	}
	return merged
}

// On is the claim to the entries of one object, such as Node/worker-1.
func (c Claim) On(object string) Claim {
	c.Seal = c.Seal.On(object)
	return c
}

// OnNode is the claim to the entries of a node, which can be made anew under its name.
func (c Claim) OnNode(name string, uid types.UID) Claim {
	c.Seal = c.Seal.OnNode(name, string(uid))
	return c
}

// Leaving is the claim to the entries of an object that is not meant: what is owned goes. A mark counts
// there by its proof alone, whatever entry it is about, as the configuration names none of this
// object. Of what was imported, only what carries a mark that the import has seen is known to be owned.
func (c Claim) Leaving() Claim {
	marked := make(map[ID][]string, len(c.Imported))
	for id, generations := range c.Imported {
		marked[id] = slices.DeleteFunc(slices.Clone(generations), func(g string) bool { return g == "" })
	}
	c.Release, c.TakeOver = true, false
	c.Taints, c.Absent, c.Imported = nil, nil, marked
	return c
}

// Owns reports whether the record holds an entry of the claim: an object without
// one needs no look.
func (c Claim) Owns(record Record) bool {
	return slices.ContainsFunc(record, c.owns)
}

// OwnsOnNode reports the same for the record of a node. In a run with a resource for each node, each
// asks about all nodes: those of others are told by the generation alone.
func (c Claim) OwnsOnNode(name string, uid types.UID, record Record) bool {
	for i := range record {
		if record[i].Generation == c.Generation || c.TakeOver || len(c.Imported) > 0 {
			return c.OnNode(name, uid).Owns(record)
		}
	}
	return false
}

// owns reports whether a mark is owned. One of a taint that belongs to a controller is never:
// no resource writes it, so another writer has forged the mark.
func (c Claim) owns(mark Mark) bool {
	owner := record.Owner{ID: c.Owner, Generation: c.Generation, TakeOver: c.TakeOver, Proves: c.Seal.Proves, Saw: c.Seal.Saw}
	return Ownable(mark.ID()) && owner.Owns(record.Written{Owner: mark.Owner, Generation: mark.Generation}, c.wants(mark.ID()), c.Imported[mark.ID()], mark.Sealed)
}

// imported reports whether a mark has a generation with which its entry was imported.
func (c Claim) imported(mark Mark) bool {
	return slices.Contains(c.Imported[mark.ID()], mark.Generation)
}

// believe returns a mark as far as it is believed. Of one of our own without a proof that is
// whose entry it is about, and not what a destroy restores: another writer has written that. The
// proofs of an earlier create are lost with it. What it has removed would be as well, so that
// a plan names what its marks restore; nothing is restored in place of what is wanted.
func (c Claim) believe(mark Mark) Mark {
	absent := slices.Contains(c.Absent, mark.ID())
	believed := c.TakeOver && absent
	switch {
	case !c.owns(mark):
		return mark
	case mark.Generation == c.Generation:
		believed = c.Seal.Proves(mark.Sealed())
	case c.imported(mark):
		believed = c.Seal.Saw(mark.Sealed())
	}
	if !believed {
		// Without its mark the entry would be adopted as well: a forged one gains nothing.
		mark.Absent, mark.Previous, mark.Adopted = absent, nil, mark.Adopted && c.TakeOver && c.Adopt
	}
	return mark
}

func (c Claim) wants(id ID) bool {
	return Find(c.Taints, id) >= 0 || slices.Contains(c.Absent, id)
}

// Unmarked reports whether an entry without a mark is owned, because it was taken into the state
// like that, and on this object.
func (c Claim) Unmarked(id ID) bool {
	return slices.Contains(c.Imported[id], "") && c.Seal.Saw(id.Unmarked())
}

type merge struct {
	claim      Claim
	taints     []corev1.Taint
	marks      map[ID]Mark
	changed    bool
	conflicts  []Conflict
	takenOver  []ID
	deviations map[ID]Status
}

func (m *merge) wanted() map[ID]bool {
	wanted := make(map[ID]bool, len(m.claim.Taints)+len(m.claim.Absent))
	if m.claim.Release {
		return wanted
	}
	for _, t := range m.claim.Taints {
		wanted[IDOf(t)] = true
	}
	for _, id := range m.claim.Absent {
		wanted[id] = true
	}
	return wanted
}

// retire gives up marked entries that are owned and no longer wanted.
func (m *merge) retire(record Record, wanted map[ID]bool) {
	for _, mark := range record {
		if !m.claim.owns(mark) || wanted[mark.ID()] {
			continue
		}
		if mark.Previous != nil || !slices.Contains(m.claim.Kept, mark.ID()) {
			m.restore(mark)
		}
		delete(m.marks, mark.ID())
		m.changed = true
		m.deviations[mark.ID()] = Different
	}
}

// restore brings back what stood there before the mark was made. A taint of
// owned is removed whatever value others have given it meanwhile, since no resource would
// own it afterwards; one that they have removed is not restored to its old
// form, and one that they put where we had removed it stays.
func (m *merge) restore(mark Mark) {
	at := Find(m.taints, mark.ID())
	if mark.Previous != nil && len(Validate(corev1.Taint{Key: mark.Key, Value: *mark.Previous, Effect: mark.Effect})) > 0 {
		// No taint had this value: the API server would refuse the whole list for it.
		mark.Previous = nil
	}
	switch {
	case mark.Absent && at < 0 && mark.Previous != nil:
		m.taints = append(m.taints, corev1.Taint{Key: mark.Key, Value: *mark.Previous, Effect: mark.Effect})
	case !mark.Absent && at >= 0 && mark.Previous != nil:
		m.taints[at] = corev1.Taint{Key: mark.Key, Value: *mark.Previous, Effect: mark.Effect}
	case !mark.Absent && at >= 0:
		m.taints = slices.Delete(m.taints, at, at+1)
	}
}

// release removes entries that were imported and never marked.
func (m *merge) release() {
	for id := range m.claim.Imported {
		at := Find(m.taints, id)
		_, marked := m.marks[id]
		if !m.claim.Unmarked(id) || marked || at < 0 || slices.Contains(m.claim.Kept, id) {
			continue
		}
		m.taints = slices.Delete(m.taints, at, at+1)
		m.changed = true
	}
}

// put makes a taint be in the list with the wanted value.
func (m *merge) put(t corev1.Taint) {
	id := IDOf(t)
	at := Find(m.taints, id)
	mark, marked := m.marks[id]
	imported := m.claim.Unmarked(id)
	switch {
	case marked && !m.claim.owns(mark), !marked && at >= 0 && !m.claim.Adopt && !imported:
		m.conflict(id, mark.Owner, at)
		return
	}
	m.note(mark, marked)
	switch {
	case at < 0:
		m.deviations[id] = Missing
		m.taints = append(m.taints, corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect})
		m.changed = true
	case m.taints[at].Value != t.Value:
		m.deviations[id] = Different
		m.taints[at] = corev1.Taint{Key: t.Key, Value: t.Value, Effect: t.Effect}
		m.changed = true
	case !marked && imported:
		// In sync and known to the state: the mark is written with the next
		// change, so that import and move touch nothing.
	case !marked:
		m.deviations[id] = Different
		m.changed = true
	}
	m.mark(id, Mark{Previous: mark.Previous, Adopted: mark.Adopted || !marked && at >= 0})
}

// drop makes an entry be in the list no more.
func (m *merge) drop(id ID) {
	at := Find(m.taints, id)
	mark, marked := m.marks[id]
	if marked && !m.claim.owns(mark) {
		m.conflict(id, mark.Owner, at)
		return
	}
	m.note(mark, marked)
	if at < 0 {
		if marked {
			m.mark(id, Mark{Absent: true, Previous: mark.Previous})
		}
		return
	}
	m.deviations[id] = Different
	previous := mark.Previous
	if !marked && !m.claim.Unmarked(id) || marked && mark.Absent && previous == nil {
		// Another writer's: a release puts it back. An imported one is owned, and so is one
		// that the resource's mark calls present; one added after the resource removed its own is not.
		value := m.taints[at].Value
		previous = &value
	}
	m.taints = slices.Delete(m.taints, at, at+1)
	m.changed = true
	m.mark(id, Mark{Absent: true, Previous: previous})
}

// mark writes the entry's mark; one that differs from what stood there is a
// change only where the entry changes hands.
func (m *merge) mark(id ID, mark Mark) {
	mark.Key, mark.Effect, mark.Owner, mark.Generation = id.Key, id.Effect, m.claim.Owner, m.claim.Generation
	mark.Proof = m.marks[id].Proof
	mark.Proof = m.claim.Seal.Renew(mark.Sealed())
	if old, marked := m.marks[id]; marked && (old.Generation != mark.Generation || old.Absent != mark.Absent || old.Proof != mark.Proof) {
		_, imported := m.claim.Imported[id]
		imported = imported && m.claim.Seal.Saw(old.Sealed())
		// A mark of our own generation with an old proof would have no owner once the entry is
		// not wanted any more.
		m.changed = m.changed || !imported || old.Absent != mark.Absent || old.Generation == mark.Generation
	}
	m.marks[id] = mark
}

func (m *merge) note(mark Mark, marked bool) {
	if _, imported := m.claim.Imported[mark.ID()]; marked && !imported && mark.Generation != m.claim.Generation {
		m.takenOver = append(m.takenOver, mark.ID())
	}
}

func (m *merge) conflict(id ID, owner string, at int) {
	c := Conflict{ID: id, Owner: owner}
	if at >= 0 {
		c.Value = m.taints[at].Value
		m.deviations[id] = Different
	} else {
		m.deviations[id] = Missing
	}
	m.conflicts = append(m.conflicts, c)
}

// Hold adds a mark of a wanted entry to what is held after an apply, where it is owned. An imported
// one is written with the next change.
func (c Claim) Hold(mark Mark, held record.Held) {
	switch {
	case !c.owns(mark):
	case mark.Generation == c.Generation:
		held.Hold(c.Seal, mark.Sealed())
	case c.Seal.Saw(mark.Sealed()):
		held.Note(c.Seal, mark.Sealed())
	}
}

// HoldUnmarked adds the entries to what is held that were imported without a mark and have none yet: it
// is written with the next change.
func (c Claim) HoldUnmarked(list []corev1.Taint, r Record, held record.Held) {
	for _, t := range list {
		id := IDOf(t)
		if _, marked := r.Of(id); !marked && c.wants(id) && c.Unmarked(id) {
			held.Note(c.Seal, id.Unmarked())
		}
	}
}

// IDs returns the identities that the claim wants, present or absent, sorted.
func (c Claim) IDs() []ID {
	ids := slices.Clone(c.Absent)
	for _, t := range c.Taints {
		ids = append(ids, IDOf(t))
	}
	return SortIDs(ids)
}
