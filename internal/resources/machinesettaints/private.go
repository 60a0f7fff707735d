// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ownership is what the resource remembers beside its state.
type ownership = managed.Ownership[taint.ID]

// ownership loads the private state of an existing instance, or recovers what it
// held. The error is that of reading the cluster for it.
func (r *machineSetTaints) ownership(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := managed.LoadOwnership[taint.ID](ctx, private, state.ID.ValueString(), diags)
	if own.Sealed() || diags.HasError() {
		return own, nil
	}
	target, _ := state.targets(diags)
	_, sets, err := r.observe(ctx, own.Cluster, target, diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return recovered(ctx, own, state, sets, diags), nil
}

// recovered finds out again what a private state held that is lost.
func recovered(ctx context.Context, own ownership, state model, sets []machineset.Observed, diags *diag.Diagnostics) ownership {
	found := managed.GenerationsOf(state.ID.ValueString())
	for _, o := range sets {
		for _, mark := range o.Set.Record {
			found.Note(o.Set.Title(), mark.Owner, mark.Generation)
		}
	}
	own = own.Recover(func() string { return found.One("No MachineSet", diags) })
	marks := own.Find(state.ID.ValueString(), own.HeldSeal())
	marks.Sets(sets)
	desired, _ := state.desired(ctx, own, diags)
	own = own.TookUnmarked(marks.UnmarkedInSets(desired.target, sets, taint.IDs(desired.Claim.Taints)))
	return own.See(marks.Held, record.Held{})
}
