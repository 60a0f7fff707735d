// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Hold adds the marks of wanted taints that a resource has on nodes after an apply: others are
// written back by another writer meanwhile, as all are on a node that is not meant. A node with a
// damaged record keeps what it had. A kubelet may write the annotations of its node, and not its
// taints: what the resource has given up there must not be removed again by an old mark.
func (d NodeTaints) Hold(nodes []*snapshot.Node, held record.Held) {
	wanted := d.Claim.IDs()
	for _, n := range nodes {
		meant := d.Target.Matches(n)
		if !meant && n.RecordErr == nil {
			continue
		}
		claim := d.Claim.OnNode(n.Name, n.UID)
		if n.RecordErr != nil {
			held.Keep(claim.Seal)
		}
		if !meant {
			continue
		}
		claim.HoldUnmarked(n.Taints, n.Record, held)
		for _, mark := range n.Record {
			if slices.Contains(wanted, mark.ID()) {
				claim.Hold(mark, held)
			}
		}
	}
}

// Hold does the same for labels.
func (d NodeLabels) Hold(nodes []*snapshot.Node, held record.Held) {
	for _, n := range nodes {
		claim := d.Claim
		if !d.Target.Matches(n) {
			claim = d.leaving().Claim
		}
		claim = claim.OnNode(n.Name, n.UID)
		if n.LabelRecordErr != nil {
			held.Keep(claim.Seal)
		}
		holdLabels(claim, n.LabelRecord, false, held)
	}
}

// holdLabels adds the marks of wanted labels, or of all that are owned.
func holdLabels(claim label.Claim, marks label.Record, all bool, held record.Held) {
	for _, mark := range marks {
		if _, wanted := claim.Labels[mark.Key]; (wanted || all) && mark.Generation == claim.Generation && claim.Owns(label.Record{mark}) {
			held.Hold(claim.Seal, mark.Sealed())
		}
	}
}

// Hold does the same for MachineSets, and for the labels that their templates give to nodes.
// A user who may edit one may edit its taints as well, but not by that the machines of it.
func (d DesiredSets) Hold(sets []machineset.Observed, held record.Held) {
	for _, o := range sets {
		change := d.Of(o)
		change.Desired.Hold(o.Set, held)
		claim := change.Labels.On(o.Set.Object())
		if o.Set.LabelRecordErr != nil {
			held.Keep(claim.Seal)
		}
		// The marks of what goes stay until no node has it, and one that is skipped may.
		holdLabels(claim, o.Set.LabelRecord, len(o.Unreadable()) > 0, held)
	}
}

// Hold does the same for the tolerations of a workload, and for what its pods require of nodes.
// What retires is held as well: it goes in a later apply. A record that is damaged fails the
// apply.
func (t Tolerations) Hold(held record.Held) {
	claim, pin := t.claim(), t.pin()
	for _, mark := range t.Workload.Record {
		claim.Hold(mark, held)
	}
	claim.HoldUnmarked(t.Workload.Tolerations, t.Workload.Record, held)
	if !pin.Release {
		holdLabels(pin, t.Workload.LabelRecord, false, held)
	}
	if t.Workload.Config != nil {
		held.Hold(t.wholeSeal(), t.Workload.SealedCreated())
	}
}

// wholeSeal is the seal of the object that a component is part of.
func (t Tolerations) wholeSeal() record.Seal {
	return t.Claim.Seal.On(t.Workload.Whole().Grouped())
}

// Created returns the proof that a ConfigMap gets if it is created for the workload, and reports whether
// the one that is there was created by the resource, or by another one whose seal is known.
func (t Tolerations) Created() (proof string, proved bool) {
	seal, sealed := t.wholeSeal(), t.Workload.SealedCreated()
	proved = sealed.Proof != "" && (seal.Nonce != "" && seal.Proves(sealed) || slices.ContainsFunc(t.Claim.Known, func(known record.Seal) bool {
		return known.On(seal.Object).Proves(sealed)
	}))
	return seal.Proof(sealed.Parts...), proved
}

// HoldAll returns the marks that a resource has on workloads after an apply.
func HoldAll(workloads []Tolerations) record.Held {
	held := record.Held{}
	for _, t := range workloads {
		t.Hold(held)
	}
	return held
}

// Forget drops from what a resource holds the marks that are no longer on its workloads. Other
// resources remove retained entries, and a mark that is restored after that does not count any more.
// Marks of a workload that does not exist are kept, because a backup may restore it.
func Forget(workloads []Tolerations, held record.Held) {
	var looks []record.Look
	for _, t := range workloads {
		if t.Workload.RecordErr == nil && t.Workload.LabelRecordErr == nil {
			looks = append(looks, record.Look{Seal: t.claim().Seal, Still: t.still()})
		}
		if t.Workload.Config != nil {
			looks = append(looks, record.Look{Seal: t.wholeSeal(), Still: []record.Sealed{t.Workload.SealedCreated()}})
		}
	}
	held.Forget(looks...)
}

// still returns the marks that are on the workload, and the entries without one.
func (t Tolerations) still() []record.Sealed {
	var still []record.Sealed
	for _, mark := range t.Workload.Record {
		still = append(still, mark.Sealed())
	}
	for _, mark := range t.Workload.LabelRecord {
		still = append(still, mark.Sealed())
	}
	for _, one := range toleration.Unmarked(t.Workload.Record, t.Workload.Tolerations, t.Claim.Path) {
		still = append(still, toleration.IDOf(one).Unmarked(t.Claim.Path))
	}
	return still
}
