// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Found collects the marks of one owner and generation that objects carry: all that is left of a
// private state that is lost, or of a resource that is imported. They count as they are now, and
// what others write later does not.
type Found struct {
	Owner, Generation string
	Seal              record.Seal
	Held              record.Held
}

// Nodes adds what nodes carry.
func (f Found) Nodes(nodes []*snapshot.Node) {
	for _, n := range nodes {
		seal := f.Seal.OnNode(n.Name, string(n.UID))
		for _, mark := range n.Record {
			f.note(seal, mark.Owner, mark.Generation, mark.Sealed())
		}
		f.labels(seal, n.LabelRecord)
	}
}

// Sets adds what MachineSets carry.
func (f Found) Sets(sets []machineset.Observed) {
	for _, o := range sets {
		seal := f.Seal.On(o.Set.Object())
		for _, mark := range o.Set.Record {
			f.note(seal, mark.Owner, mark.Generation, mark.Sealed())
		}
		f.labels(seal, o.Set.LabelRecord)
	}
	f.Rollouts(sets)
}

// Rollouts adds what the machines of MachineSets kept, and rollouts that go on.
func (f Found) Rollouts(sets []machineset.Observed) {
	for _, o := range sets {
		seal := f.Seal.On(o.Set.Object())
		for _, one := range o.Set.Remnants {
			f.note(seal, one.Owner, one.Generation, one.Sealed())
		}
		if m := o.Set.Marker; m != nil {
			f.note(seal, m.ID, f.Generation, m.Sealed())
		}
	}
}

// Unmarked adds the entries without a mark on the nodes that are meant, and returns which there are.
func (f Found) Unmarked(target Target, nodes []*snapshot.Node, ids []taint.ID) []taint.ID {
	var out []taint.ID
	for _, n := range nodes {
		if target.Matches(n) {
			out = append(out, f.unmarked(f.Seal.OnNode(n.Name, string(n.UID)), n.Taints, n.Record, ids)...)
		}
	}
	return slices.Compact(taint.SortIDs(out))
}

// UnmarkedInSets does the same for the templates of MachineSets.
func (f Found) UnmarkedInSets(target machineset.Target, sets []machineset.Observed, ids []taint.ID) []taint.ID {
	var out []taint.ID
	for _, o := range sets {
		if target.Matches(o.Set) {
			out = append(out, f.unmarked(f.Seal.On(o.Set.Object()), o.Set.Taints, o.Set.Record, ids)...)
		}
	}
	return slices.Compact(taint.SortIDs(out))
}

func (f Found) unmarked(seal record.Seal, list []corev1.Taint, r taint.Record, ids []taint.ID) []taint.ID {
	var out []taint.ID
	for _, id := range ids {
		if _, marked := r.Of(id); !marked && taint.Find(list, id) >= 0 {
			f.Held.Note(seal, id.Unmarked())
			out = append(out, id)
		}
	}
	return out
}

// Lists adds what a workload or a namespace carries.
func (f Found) Lists(object string, tolerations toleration.Record, labels label.Record) {
	seal := f.Seal.On(object)
	for _, mark := range tolerations {
		f.note(seal, mark.Owner, mark.Generation, mark.Sealed())
	}
	f.labels(seal, labels)
}

func (f Found) labels(seal record.Seal, marks label.Record) {
	for _, mark := range marks {
		f.note(seal, mark.Owner, mark.Generation, mark.Sealed())
	}
}

func (f Found) note(seal record.Seal, owner, generation string, m record.Sealed) {
	if owner == f.Owner && generation == f.Generation {
		f.Held.Note(seal, m)
	}
}
