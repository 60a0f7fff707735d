// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Hold adds what the resource has of its own on a MachineSet after an apply: marks of wanted
// taints, and what machines keep under template_only. Everything else is written back by another
// writer meanwhile: the apply has removed it, and its marker. What is desired must be that of this
// MachineSet. One whose record is damaged keeps what it had; false where that is not known.
func (d Desired) Hold(s *Set, held record.Held) bool {
	claim, known := d.Claim.On(s.Object()), true
	if s.RecordErr != nil || s.MarkerErr != nil {
		held.Keep(claim.Seal, claim.Seal.Held)
		known = claim.Seal.Held != nil
	}
	for _, mark := range s.Record {
		if slices.Contains(claim.IDs(), mark.ID()) && mark.Generation == claim.Generation && claim.Owns(taint.Record{mark}) {
			held.Hold(claim.Seal, mark.Proof)
		}
	}
	for _, one := range s.Remnants {
		if d.Rollout.Strategy == TemplateOnly && one.of(claim) {
			held.Hold(claim.Seal, one.Proof)
		}
	}
	return known
}
