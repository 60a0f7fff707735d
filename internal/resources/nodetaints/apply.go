// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// apply carries out what is desired, within the limits.
func (r *nodeTaints) apply(ctx context.Context, verb string, m model, desired planner.NodeTaints, diags *diag.Diagnostics) bool {
	budget, _ := tfschema.BudgetOf(ctx, m.Evictions, r.Data.Evictions, diags)
	linked, _ := tfschema.Linked(ctx, m.ToleratedBy, diags)
	if diags.HasError() {
		return false
	}
	// Pods are followed once a step depends on them.
	release, err := r.Data.Cluster.Follow(ctx, false)
	if err != nil {
		diags.Append(explain(verb, desired, budget, err))
		return false
	}
	defer release()
	if found := r.await(ctx, verb, desired); found != nil {
		diags.Append(found)
		return false
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err == nil {
		desired, _, err = r.Data.WithMachines(ctx, nodes, desired, planner.NodeLabels{})
	}
	var done rollout.Result
	if err == nil {
		change := rollout.Change{Owner: desired.Claim.Owner, Nodes: &desired, Shared: &r.Data.Planned, Frees: r.Data.Frees(desired.Named(), desired.Replaced, desired.Known), Limits: budget.Limits}
		if !desired.Claim.Release {
			change.Links = linked
		}
		done, err = rollout.Run(ctx, r.Data.Cluster, change, r.Data.Comparison)
	}
	if err != nil {
		diags.Append(explain(verb, desired, budget, err))
		return false
	}
	message.WarnRetained(message.Place(desired.Target), done, diags)
	return true
}

// await waits for a node that does not exist yet, and tells of one that is gone.
func (r *nodeTaints) await(ctx context.Context, verb string, desired planner.NodeTaints) diag.Diagnostic {
	if desired.Target.Selector != nil {
		return nil
	}
	if verb == "create" {
		if err := r.Data.Cluster.WaitForNode(ctx, desired.Target.Name); err != nil {
			return explainWait(desired.Target.Name, err)
		}
	}
	if _, there := r.Data.Cluster.Node(desired.Target.Name); verb == "update" && !there {
		return explainGone(desired.Target.Name)
	}
	return nil
}
