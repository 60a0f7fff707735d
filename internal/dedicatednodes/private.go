// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ownership is what the resource remembers beside its state.
type ownership = fw.Ownership[taint.ID]

// keep forgets imported entries that are no longer wanted.
func keep(own ownership, claim taint.Claim) ownership {
	wanted := make([]taint.ID, len(claim.Taints))
	for i, t := range claim.Taints {
		wanted[i] = taint.IDOf(t)
	}
	return own.Keep(wanted)
}

// ownership loads the private state of an existing instance. Where it is lost,
// because an update was killed, the marks with the state's id are ours. The error
// is that of reading the cluster for it.
func (r *dedicatedNodes) ownership(ctx context.Context, private fw.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := fw.LoadOwnership[taint.ID](ctx, private, diags)
	if own.Generation != "" || diags.HasError() {
		return own, nil
	}
	desired, known := state.desired(ctx, own, diags)
	if !known {
		return own, nil
	}
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return recovered(desired, observed, diags), nil
}

// recovered finds out again what a private state held that is lost: Terraform
// keeps an empty one when the provider's process ends in the middle of an
// update. The state is then all there is: marks with its id are ours, and so are
// its taints that carry no mark. Which cluster it was written for is lost as
// well: one that carries no mark of it may be another, which is an error.
func recovered(desired wanted, observed observation, diags *diag.Diagnostics) ownership {
	own, found := fw.NewOwnership[taint.ID](""), false
	look := func(owner, generation string) {
		if owner == desired.owner() {
			own.Generation, found = generation, true
		}
	}
	for _, s := range observed.members {
		for _, mark := range s.workload.Record {
			look(mark.Owner, mark.Generation)
		}
		for _, mark := range s.workload.LabelRecord {
			look(mark.Owner, mark.Generation)
		}
	}
	for _, n := range observed.nodes {
		for _, mark := range n.LabelRecord {
			look(mark.Owner, mark.Generation)
		}
		for _, mark := range n.Record {
			look(mark.Owner, mark.Generation)
		}
	}
	own.Imported = make(map[taint.ID][]string, len(desired.nodes.Claim.Taints))
	for _, t := range desired.nodes.Claim.Taints {
		own.Imported[taint.IDOf(t)] = []string{""}
	}
	if !found {
		diags.AddError("Unable to tell whether this state belongs to this cluster",
			"An earlier update was killed, and with it went the record of the cluster that the state was written for. Neither a node nor a workload of this cluster carries a mark of \""+desired.owner()+"\". "+
				"Point the provider block at the right cluster. If this is the right one, remove the resource from the state with \"terraform state rm\" and import it, or apply it anew.")
	}
	return own
}
