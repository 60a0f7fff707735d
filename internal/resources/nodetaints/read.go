// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Observe reads the nodes.
func (r *nodeTaints) Observe(ctx context.Context, _ model, _ ownership, _ *diag.Diagnostics) ([]*snapshot.Node, error) {
	return r.Data.Cluster.Nodes(ctx)
}

// Recover finds the marks with the state's id.
func (r *nodeTaints) Recover(ctx context.Context, own ownership, state model, nodes []*snapshot.Node, diags *diag.Diagnostics) (ownership, error) {
	found := managed.GenerationsOf(state.ID.ValueString())
	for _, n := range nodes {
		for _, mark := range n.Record {
			found.Note("node "+n.Name, mark.Owner, mark.Generation)
		}
	}
	own = own.Recover(func() string { return found.One("No node", diags) })
	marks := own.Find(state.ID.ValueString(), own.HeldSeal())
	marks.Nodes(nodes)
	desired, _ := state.Desired(ctx, own, diags)
	own = own.TookUnmarked(marks.Unmarked(desired.Target, nodes, taint.IDs(desired.Claim.Taints)))
	return own.See(marks.Held, record.Held{}), nil
}

// Refresh compares the nodes with the state. It never takes up what others put on a node: the taints in the
// state are those of the configuration that was applied last, and only nodes reports where the cluster
// differs. State is dropped where the named node does not exist.
func (r *nodeTaints) Refresh(ctx context.Context, state model, own ownership, nodes []*snapshot.Node, diags *diag.Diagnostics) (model, ownership, error) {
	desired, _ := state.Desired(ctx, own, diags)
	switch {
	case diags.HasError():
		return state, own, nil
	case desired.Target.Selector == nil && !exists(nodes, desired.Target.Name):
		return state, own, managed.Gone(kube.ErrNotFound)
	}
	message.WarnRestoredNodes(nodes, desired.Claim, label.Claim{}, diags)
	state.Nodes = deviations(ctx, planner.PlanNodes(nodes, desired).Deviations, diags)
	return state, own, nil
}

func exists(nodes []*snapshot.Node, name string) bool {
	for _, n := range nodes {
		if n.Name == name {
			return true
		}
	}
	return false
}

func deviations(ctx context.Context, by map[string]taint.Status, diags *diag.Diagnostics) types.Map {
	if len(by) == 0 {
		return noNodes()
	}
	m, found := types.MapValueFrom(ctx, types.StringType, by)
	diags.Append(found...)
	return m
}
