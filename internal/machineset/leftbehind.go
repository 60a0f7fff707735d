// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// RemnantsAnnotation is where a MachineSet records the taints that left its template and that
// machines kept, as template_only leaves them. It is written in the same patch as the template,
// so that a process that is killed forgets nothing, and removed once no machine has them.
const RemnantsAnnotation = "kubetaint.io/remaining-taints"

// Remnant is a taint that some machines kept.
type Remnant struct {
	Key    string             `json:"key"`
	Effect corev1.TaintEffect `json:"effect"`
	Value  string             `json:"value,omitempty"`
	// Machines are the UIDs of those that kept it. Another machine with the same taint has it
	// from another writer.
	Machines []types.UID `json:"machines"`
	// Owner and Generation are those of the resource that took it out of the template.
	Owner      string `json:"owner"`
	Generation string `json:"generation"`
	// Proof shows that the resource itself has written the entry. See record.Seal.
	Proof string `json:"proof,omitempty"`
}

// RemnantRecord is the remnants of one MachineSet.
type RemnantRecord []Remnant

// ParseRemnants reads the annotation's value; an empty one is an empty record. Errors:
// *record.DamagedError.
func ParseRemnants(s string) (RemnantRecord, error) {
	return record.Parse[Remnant](RemnantsAnnotation, s)
}

// String returns the annotation's value, sorted so that equal records are equal strings, ""
// for an empty one.
func (r RemnantRecord) String() string {
	return record.Format(r, func(a, b Remnant) int {
		return cmp.Or(a.id().Compare(b.id()), cmp.Compare(a.Value, b.Value), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Generation, b.Generation), slices.Compare(a.Machines, b.Machines))
	})
}

func (r Remnant) id() taint.ID { return taint.ID{Key: r.Key, Effect: r.Effect} }

// Sealed is what the proof of the entry is of.
func (r Remnant) Sealed() record.Sealed {
	parts := []string{"remnant", r.Key, string(r.Effect), r.Value}
	for _, uid := range r.Machines {
		parts = append(parts, string(uid))
	}
	return record.Sealed{Proof: r.Proof, Parts: parts}
}

// of reports whether an entry is of a claim, which must be that to the MachineSet's entries.
// It needs a proof, since no configuration names the taint any more: without one, a user who may
// patch the MachineSet could have any taint removed from its machines.
func (r Remnant) of(claim taint.Claim) bool {
	return claim.Generation != "" && r.Owner == claim.Owner && r.Generation == claim.Generation &&
		taint.Ownable(r.id()) && claim.Seal.Proves(r.Sealed())
}

// byMachine returns the taints of the record by machine.
func (r RemnantRecord) byMachine() Remnants {
	out := Remnants{}
	for _, one := range r {
		for _, uid := range one.Machines {
			out[uid] = append(out[uid], corev1.Taint{Key: one.Key, Value: one.Value, Effect: one.Effect})
		}
	}
	return out
}

// HandOver returns the record with the entries of one claim given to another, and whether
// there are any. The object is what Set.Object returns.
func (r RemnantRecord) HandOver(object string, from, to taint.Claim) (RemnantRecord, bool) {
	from, handed := from.On(object), RemnantRecord{}
	others := slices.DeleteFunc(slices.Clone(r), func(one Remnant) bool {
		if one.of(from) {
			handed = append(handed, one)
			return true
		}
		return false
	})
	// An apply of the other may have come to its end by now, which knew nothing of them: they
	// count as those of the one after it.
	to.Seal.Epoch++
	return append(others, handed.byMachine().record(to.On(object), nil)...), len(handed) > 0
}

// Remnants are taints by the UID of the machine that kept them.
type Remnants map[types.UID][]corev1.Taint

// record returns the entries of a claim. Those that stand there keep their proofs.
func (r Remnants) record(claim taint.Claim, before RemnantRecord) RemnantRecord {
	machines := map[corev1.Taint][]types.UID{}
	for uid, taints := range r {
		for _, t := range taints {
			machines[t] = append(machines[t], uid)
		}
	}
	var out RemnantRecord
	for t, uids := range machines {
		slices.Sort(uids)
		one := Remnant{Key: t.Key, Effect: t.Effect, Value: t.Value, Machines: slices.Compact(uids), Owner: claim.Owner, Generation: claim.Generation}
		one.Proof = before.proofOf(one)
		one.Proof = claim.Seal.Renew(one.Sealed())
		out = append(out, one)
	}
	return out
}

// proofOf returns the proof of the entry that is the same, "" for none.
func (r RemnantRecord) proofOf(other Remnant) string {
	for _, one := range r {
		if one.Owner == other.Owner && one.Generation == other.Generation && slices.Equal(one.Sealed().Parts, other.Sealed().Parts) {
			return one.Proof
		}
	}
	return ""
}

// remnants returns the claim's entries of the record, by machine.
func (d Desired) remnants(s *Set) Remnants {
	claim := d.Claim.On(s.Object())
	return slices.DeleteFunc(slices.Clone(s.Remnants), func(r Remnant) bool { return !r.of(claim) }).byMachine()
}

// Unproved returns what machines kept by entries with the claim's id that it cannot prove, as
// after an earlier object with this id whose private state is gone. Nothing removes it.
func Unproved(o Observed, d Desired) Remnants {
	claim := d.Claim.On(o.Set.Object())
	left := slices.DeleteFunc(slices.Clone(o.Set.Remnants), func(r Remnant) bool { return r.Owner != claim.Owner || r.of(claim) })
	return Template{Merged: taint.Merged{Taints: o.Set.Taints}, remnants: left.byMachine()}.remaining(o)
}

// LeftBehind returns what the machines that are not being deleted, or their nodes, have of
// owned and the template lacks once what is desired is done.
func LeftBehind(o Observed, d Desired) Remnants {
	out, t := Remnants{}, d.Merge(o.Set)
	for _, m := range o.Machines {
		if m.Deleting {
			continue
		}
		n := o.Nodes[m.Node]
		for _, id := range t.on(m, n).Ours {
			if one, has := carried(m, n, id); has && taint.Find(t.Taints, id) < 0 {
				out[m.UID] = append(out[m.UID], one)
			}
		}
	}
	return out
}

// Remaining returns what machines kept earlier and still have as it was.
func Remaining(o Observed, d Desired) Remnants { return d.Merge(o.Set).remaining(o) }

func (t Template) remaining(o Observed) Remnants {
	out := Remnants{}
	for _, m := range o.Machines {
		if left := t.left(m, o.Nodes[m.Node]); !m.Deleting && len(left) > 0 {
			out[m.UID] = left
		}
	}
	return out
}

// left returns what a machine kept and still has as it was, without what the template has
// again.
func (t Template) left(m *Machine, n *snapshot.Node) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(t.remnants[m.UID]), func(left corev1.Taint) bool {
		now, has := carried(m, n, taint.IDOf(left))
		return !has || now.Value != left.Value || taint.Find(t.Taints, taint.IDOf(left)) >= 0
	})
}

// on is the template as one machine and its node are measured by it: what they kept is removed
// as well, for as long as it is as it was.
func (t Template) on(m *Machine, n *snapshot.Node) Template {
	ours := slices.Clone(t.Ours)
	for _, left := range t.left(m, n) {
		ours = append(ours, taint.IDOf(left))
	}
	t.Ours = slices.Compact(taint.SortIDs(ours))
	return t
}

// carried returns the entry that a machine has, itself or on its node; what another writer has marked
// on a node is theirs, and all of it may be where its record cannot be read.
func carried(m *Machine, n *snapshot.Node, id taint.ID) (corev1.Taint, bool) {
	if at := taint.Find(m.Taints, id); at >= 0 {
		return bare(m.Taints[at]), true
	}
	if n == nil || n.RecordErr != nil {
		return corev1.Taint{}, false
	}
	at := taint.Find(n.Taints, id)
	if _, marked := n.Record.Of(id); at < 0 || marked {
		return corev1.Taint{}, false
	}
	return bare(n.Taints[at]), true
}

// remnants returns the record that the next patch of the MachineSet writes, and whether that
// is another one. A rollout that reaches machines removes what they kept, and its marker holds
// what it removes beside that. A destroy with template_only leaves no record.
func (v *view) remnants() (RemnantRecord, bool) {
	claim, left := v.desired.Claim.On(v.Set.Object()), Remnants(nil)
	switch {
	case v.strategy() != TemplateOnly:
		left = v.template.remaining(v.Observed)
	case !v.desired.Claim.Release || v.desired.Unselected:
		left = LeftBehind(v.Observed, v.desired)
	}
	others := slices.DeleteFunc(slices.Clone(v.Set.Remnants), func(r Remnant) bool { return r.of(claim) })
	next := append(others, left.record(claim, v.Set.Remnants)...)
	return next, next.String() != v.Set.Remnants.String()
}
