// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
)

// ownership is what the resource remembers beside its state.
type ownership = managed.Ownership[taint.ID]

// recovered finds out again what a private state held that is lost.
func recovered(ctx context.Context, own ownership, state model, nodes []*snapshot.Node, diags *diag.Diagnostics) ownership {
	found := managed.GenerationsOf(state.ID.ValueString())
	for _, n := range nodes {
		for _, mark := range n.Record {
			found.Note("node "+n.Name, mark.Owner, mark.Generation)
		}
	}
	own = own.Recover(func() string { return found.One("No node", diags) })
	marks := own.Find(state.ID.ValueString(), own.HeldSeal())
	marks.Nodes(nodes)
	desired, _ := state.desired(ctx, own, diags)
	own = own.TookUnmarked(marks.Unmarked(desired.Target, nodes, taint.IDs(desired.Claim.Taints)))
	return own.See(marks.Held, record.Held{})
}
