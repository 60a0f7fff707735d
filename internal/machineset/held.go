// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Hold adds what the resource has of its own on a MachineSet after an apply: marks of wanted
// taints, and what machines keep under template_only. Everything else is written back by another
// writer meanwhile: the apply has removed it, and its marker. What is desired must be that of this
// MachineSet. One whose record is damaged keeps what it had.
func (d Desired) Hold(s *Set, held record.Held) {
	claim := d.Claim.On(s.Object())
	if s.RecordErr != nil || s.MarkerErr != nil {
		held.Keep(claim.Seal)
	}
	claim.HoldUnmarked(s.Taints, s.Record, held)
	for _, mark := range s.Record {
		if slices.Contains(claim.IDs(), mark.ID()) {
			claim.Hold(mark, held)
		}
	}
	for _, one := range s.Remnants {
		if d.Rollout.Strategy == TemplateOnly && one.of(claim) {
			held.Hold(claim.Seal, one.Sealed())
		}
	}
}
