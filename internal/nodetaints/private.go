// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
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

// recovered finds out again what a private state held that is lost: Terraform
// keeps an empty one when the provider's process ends in the middle of an
// update. The state is then all there is: marks with its id are ours, and so
// are its taints that carry no mark. Which cluster it was written for is lost as
// well: one that carries no mark of it may be another, which is an error.
func recovered(ctx context.Context, state model, nodes []*eviction.Node, diags *diag.Diagnostics) ownership {
	own, found := fw.NewOwnership[taint.ID](""), false
	for _, n := range nodes {
		for _, mark := range n.Record {
			if mark.Owner == state.ID.ValueString() {
				own.Generation, found = mark.Generation, true
			}
		}
	}
	taints, _ := fw.Taints(ctx, state.Taints, diags)
	own.Imported = make(map[taint.ID][]string, len(taints))
	for _, t := range taints {
		own.Imported[taint.IDOf(t)] = []string{""}
	}
	if !found {
		diags.AddError("Unable to tell whether this state belongs to this cluster",
			"An earlier update was killed, and with it went the record of the cluster that the state was written for. No node of this cluster carries a mark of \""+state.ID.ValueString()+"\". "+
				"Point the provider block at the right cluster. If this is the right one, remove the resource from the state with \"terraform state rm\" and import its taints, or apply it anew.")
	}
	return own
}
