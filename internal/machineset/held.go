// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Hold adds what the resource has of its own on a MachineSet after an apply: marks, what machines
// kept, and a rollout that goes on. What is desired has to be that of this MachineSet. One whose
// record is damaged keeps what it had; false where that is not known.
func (d Desired) Hold(s *Set, held record.Held) bool {
	claim, known := d.Claim.On(s.Object()), true
	if s.RecordErr != nil || s.MarkerErr != nil {
		held.Keep(claim.Seal, claim.Seal.Held)
		known = claim.Seal.Held != nil
	}
	for _, mark := range s.Record {
		if mark.Generation == claim.Generation && claim.Owns(taint.Record{mark}) {
			held.Hold(claim.Seal, mark.Proof)
		}
	}
	for _, one := range s.Remnants {
		if one.of(claim) {
			held.Hold(claim.Seal, one.Proof)
		}
	}
	if m := s.Marker; m.of(claim) {
		held.Hold(claim.Seal, m.Proof)
	}
	return known
}
