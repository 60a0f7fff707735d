// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package label

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Claim is what one resource wants of one set of labels, and what it may call
// its own there. The zero claim wants nothing and owns nothing.
type Claim struct {
	// Owner and Generation are written into the marks.
	Owner      string
	Generation string
	// Seal proves marks. A label that is not wanted is owned by a mark with a proof alone.
	Seal record.Seal
	// Labels must be there, with these values.
	Labels map[string]string
	// TakeOver makes wanted entries of the same owner and another generation
	// owned, as a create does: an earlier create was killed, or the object is
	// being replaced by a new one.
	TakeOver bool
	// Keep leaves what is owned and no longer wanted where it is, for as long as
	// something still needs it.
	Keep bool
	// Release gives up everything that is owned, as a destroy does.
	Release bool
}

// Conflict is a wanted key that is not owned to write.
type Conflict struct {
	Key string
	// Owner is the owner by the record, "" where the entry has no mark.
	Owner string
	// Value is the value that stands there now.
	Value string
}

// Merged is the outcome of a merge.
type Merged struct {
	// Labels and Record are the set and the record to write.
	Labels map[string]string
	Record Record
	// Changes are the entries that a patch must write, nil for those that it
	// takes away.
	Changes map[string]*string
	// Changed is false where nothing needs to be written; where it is set
	// without Changes, the record alone does.
	Changed bool
	// Conflicts make the whole merge void: nothing may be written.
	Conflicts []Conflict
	// TakenOver are keys of an earlier generation that the claim adopts.
	TakenOver []string
	// Missing are the wanted keys that were not there, Different those with
	// another value, and Removed those that are owned and no longer wanted.
	Missing, Different, Removed []string
}

// Lacking reports whether something that is wanted was not there as it should be.
func (m Merged) Lacking() bool { return len(m.Missing)+len(m.Different) > 0 }

// Merge changes only what the claim owns in a set of labels. A wanted label that
// stands there without a mark and with the same value is left as it is: it is
// another writer's, and stays when the claim is given up. With another value it
// is a conflict. What is owned goes whatever value others have given it
// meanwhile, since no resource would own it afterwards. Merging again changes
// nothing.
func Merge(current map[string]string, record Record, claim Claim) Merged {
	m := &merge{claim: claim, current: current, marks: map[string]Mark{}, out: Merged{Changes: map[string]*string{}}}
	for _, mark := range record {
		m.marks[mark.Key] = mark
	}
	if !claim.Release {
		for _, key := range slices.Sorted(maps.Keys(claim.Labels)) {
			m.put(key, claim.Labels[key])
		}
	}
	m.retire(record)
	out := m.out
	out.Changed = out.Changed || len(out.Changes) > 0
	if !out.Changed || len(out.Conflicts) > 0 {
		out.Labels, out.Record, out.Changes, out.Changed = current, record, nil, false
		return out
	}
	out.Record = slices.Collect(maps.Values(m.marks))
	slices.SortFunc(out.Record, func(a, b Mark) int { return strings.Compare(a.Key, b.Key) })
	out.Labels = Apply(current, out.Changes)
	return out
}

// Apply returns a set of labels with changes made.
func Apply(labels map[string]string, changes map[string]*string) map[string]string {
	out := make(map[string]string, len(labels)+len(changes))
	maps.Copy(out, labels)
	for key, value := range changes {
		if value == nil {
			delete(out, key)
		} else {
			out[key] = *value
		}
	}
	return out
}

type merge struct {
	claim   Claim
	current map[string]string
	marks   map[string]Mark
	out     Merged
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

// Owns reports whether the record holds an entry of the claim.
func (c Claim) Owns(record Record) bool {
	return slices.ContainsFunc(record, c.owns)
}

// owns reports whether a mark is owned. One of a label that is reserved is never: no resource writes it,
// so another writer has forged the mark.
func (c Claim) owns(mark Mark) bool {
	_, named := c.Labels[mark.Key]
	owner := record.Owner{ID: c.Owner, Generation: c.Generation, TakeOver: c.TakeOver && !c.Release, Proves: c.Seal.Proves, Saw: c.Seal.Saw}
	return Ownable(mark.Key) && owner.Owns(record.Written{Owner: mark.Owner, Generation: mark.Generation}, named, nil, mark.Sealed)
}

// put makes a label be in the set.
func (m *merge) put(key, value string) {
	now, there := m.current[key]
	mark, marked := m.marks[key]
	switch {
	case marked && !m.claim.owns(mark), !marked && there && now != value:
		m.out.Conflicts = append(m.out.Conflicts, Conflict{Key: key, Owner: mark.Owner, Value: now})
		m.differs(key, value)
		return
	case !marked && there:
		return
	}
	proof := m.claim.Seal.Renew(Mark{Key: key, Proof: mark.Proof}.Sealed())
	if marked && mark.Generation != m.claim.Generation {
		m.out.TakenOver = append(m.out.TakenOver, key)
		m.out.Changed = true
	}
	m.out.Changed = m.out.Changed || marked && mark.Proof != proof
	if m.differs(key, value) {
		m.out.Changes[key] = &value
	}
	m.marks[key] = Mark{Key: key, Owner: m.claim.Owner, Generation: m.claim.Generation, Proof: proof}
}

// differs notes whether a wanted label is not there as it should be.
func (m *merge) differs(key, value string) bool {
	switch now, there := m.current[key]; {
	case !there:
		m.out.Missing = append(m.out.Missing, key)
	case now != value:
		m.out.Different = append(m.out.Different, key)
	default:
		return false
	}
	return true
}

// retire takes away what is owned and no longer wanted.
func (m *merge) retire(record Record) {
	if m.claim.Keep {
		return
	}
	for _, mark := range record {
		if _, wanted := m.claim.Labels[mark.Key]; wanted && !m.claim.Release || !m.claim.owns(mark) {
			continue
		}
		delete(m.marks, mark.Key)
		m.out.Changed = true
		m.out.Removed = append(m.out.Removed, mark.Key)
		if _, there := m.current[mark.Key]; there {
			m.out.Changes[mark.Key] = nil
		}
	}
}

// Format writes labels for a reader, sorted.
func Format(labels map[string]string) string {
	out := make([]string, 0, len(labels))
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		out = append(out, key+"="+labels[key])
	}
	return strings.Join(out, ", ")
}
