// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Hold adds the marks of wanted taints that a resource has on nodes after an apply: others are
// written back by somebody else meanwhile, as all are on a node that is not meant. A node with a
// damaged record keeps what it had; false where that is not known. A kubelet may write the
// annotations of its node, and not its taints: what the resource has given up there must not be
// removed again by an old mark.
func (d NodeTaints) Hold(nodes []*snapshot.Node, held record.Held) bool {
	known := true
	for _, n := range nodes {
		claim := d.Claim.On(n.Object())
		if !d.Target.Matches(n) {
			claim = d.leaving().Claim.On(n.Object())
		}
		if n.RecordErr != nil {
			held.Keep(claim.Seal, claim.Seal.Held)
			known = known && claim.Seal.Held != nil
		}
		wanted := claim.IDs()
		for _, mark := range n.Record {
			switch {
			case !slices.Contains(wanted, mark.ID()) || !claim.Owns(taint.Record{mark}):
			case mark.Generation == claim.Generation:
				held.Hold(claim.Seal, mark.Proof)
			case claim.Saw(mark):
				// It was imported, and is written with the next change.
				claim.Note(mark, held)
			}
		}
	}
	return known
}

// Hold does the same for labels.
func (d NodeLabels) Hold(nodes []*snapshot.Node, held record.Held) bool {
	known := true
	for _, n := range nodes {
		claim := d.Claim.On(n.Object())
		if !d.Target.Matches(n) {
			claim = d.leaving().Claim.On(n.Object())
		}
		if n.LabelRecordErr != nil {
			held.Keep(claim.Seal, claim.Seal.Held)
			known = known && claim.Seal.Held != nil
		}
		for _, mark := range n.LabelRecord {
			if _, wanted := claim.Labels[mark.Key]; wanted && mark.Generation == claim.Generation && claim.Owns(label.Record{mark}) {
				held.Hold(claim.Seal, mark.Proof)
			}
		}
	}
	return known
}

// Hold does the same for MachineSets, and for the labels that their templates give to nodes.
// Whoever may edit one may edit its taints as well, but not by that the machines of it.
func (d DesiredSets) Hold(sets []machineset.Observed, held record.Held) bool {
	known := true
	for _, o := range sets {
		change := d.Of(o)
		known = change.Desired.Hold(o.Set, held) && known
		claim := change.Labels.On(o.Set.Object())
		if o.Set.LabelRecordErr != nil {
			held.Keep(claim.Seal, claim.Seal.Held)
			known = known && claim.Seal.Held != nil
		}
		// The marks of what goes stay until no node has it, and one that is skipped may.
		skips := len(o.Unreadable()) > 0
		for _, mark := range o.Set.LabelRecord {
			if _, wanted := claim.Labels[mark.Key]; (wanted || skips) && mark.Generation == claim.Generation && claim.Owns(label.Record{mark}) {
				held.Hold(claim.Seal, mark.Proof)
			}
		}
	}
	return known
}

// Hold does the same for the tolerations of a workload, and for what its pods require of nodes.
// What retires is held as well: it goes in a later apply. A record that is damaged fails the
// apply.
func (t Tolerations) Hold(held record.Held) {
	claim, pin := t.claim(), t.pin()
	for _, mark := range t.Workload.Record {
		switch {
		case claim.Holds(mark):
			held.Hold(claim.Seal, mark.Proof)
		case slices.Contains(claim.Imported[mark.ID()], mark.Generation) && claim.Saw(mark):
			// It was imported, and is written with the next change.
			claim.Note(mark, held)
		}
	}
	for _, mark := range t.Workload.LabelRecord {
		if _, wanted := pin.Labels[mark.Key]; wanted && !pin.Release && mark.Generation == pin.Generation && pin.Owns(label.Record{mark}) {
			held.Hold(pin.Seal, mark.Proof)
		}
	}
}

// HoldAll returns the marks that a resource has on workloads after an apply.
func HoldAll(workloads []Tolerations) record.Held {
	held := record.Held{}
	for _, t := range workloads {
		t.Hold(held)
	}
	return held
}

// Retain keeps what the resource holds of a workload and that is still there: others take away
// what retires, and what is written back after that counts no more.
func (t Tolerations) Retain(held record.Held) {
	claim, seal := t.claim(), t.claim().Seal
	if t.Workload.RecordErr != nil || t.Workload.LabelRecordErr != nil {
		held.Keep(seal, seal.Held)
	}
	for _, mark := range t.Workload.Record {
		if held.Retain(seal, mark.Proof); claim.Saw(mark) {
			claim.Note(mark, held)
		}
	}
	for _, mark := range t.Workload.LabelRecord {
		held.Retain(seal, mark.Proof)
	}
}
