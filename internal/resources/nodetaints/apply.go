// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// wanted is what a change wants of the nodes.
func (r *nodeTaints) wanted(ctx context.Context, c change, diags *diag.Diagnostics) planner.NodeTaints {
	out := c.Want
	out.Known, out.MachinesPlanned, out.Replaced = c.Known, c.MachinesPlanned, c.Replaced
	if c.Former != nil {
		before, _ := c.Former.Desired(ctx, c.Own, diags)
		out.Former = before.Claim.IDs()
	}
	return out
}

// Apply makes the taints as planned, within the limits: arrivals before leavers, by the marks on the nodes. A
// destroy puts back what stood there before.
func (r *nodeTaints) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	desired := r.wanted(ctx, c, diags)
	limits, _ := tfschema.LimitsOf(ctx, c.Model.Evictions, r.Data.Evictions, diags)
	linked, _ := tfschema.Linked(ctx, c.Model.ToleratedBy, diags)
	if diags.HasError() {
		return nil
	}
	// Pods are followed once a step depends on them.
	release, err := r.Data.Cluster.Follow(ctx, false)
	if err != nil {
		diags.Append(explain(c.Verb, desired, limits, err))
		return nil
	}
	defer release()
	if found := r.await(ctx, c.Verb, desired); found != nil {
		diags.Append(found)
		return nil
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err == nil {
		desired, _, err = r.Data.WithMachines(ctx, nodes, desired, planner.NodeLabels{})
	}
	var done rollout.Result
	if err == nil {
		change := rollout.Request{Owner: desired.Claim.Owner, Nodes: &desired, Shared: &r.Data.Planned, Effects: &r.Data.Effects, RetainedClaim: r.Data.RetainedClaim(desired.Named(), desired.Replaced, desired.Known), Limits: limits.Limits}
		if !desired.Claim.Release {
			change.Links = linked
		}
		done, err = rollout.Run(ctx, r.Data.Cluster, change, r.Data.Comparison)
	}
	if err != nil {
		diags.Append(explain(c.Verb, desired, limits, err))
		return nil
	}
	message.WarnRetained(message.Place(desired.Target), done, diags)
	if desired.Claim.Release {
		r.warnOrphans(ctx, desired, diags)
		return nil
	}
	c.Model.Nodes = noNodes()
	return &applied{Model: c.Model, Held: r.held(ctx, desired), Lists: record.Held{}}
}

// held returns the marks that the resource has after an apply, nil where that is not known.
func (r *nodeTaints) held(ctx context.Context, desired planner.NodeTaints) record.Held {
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err != nil {
		return nil
	}
	held := record.Held{}
	desired.Hold(nodes, held)
	return held
}

// await waits for a node that does not exist yet, and tells of one that is gone.
func (r *nodeTaints) await(ctx context.Context, verb string, desired planner.NodeTaints) diag.Diagnostic {
	if desired.Target.Selector != nil {
		return nil
	}
	if verb == "create" {
		if err := r.Data.Cluster.WaitForNode(ctx, desired.Target.Name); err != nil {
			return message.NodeDidNotJoin(path.Root("node_name"), desired.Target.Name, "Check the name (kubectl get nodes), or set a longer timeouts.create.", err)
		}
	}
	if _, there := r.Data.Cluster.Node(desired.Target.Name); verb == "update" && !there {
		return explainGone(desired.Target.Name)
	}
	return nil
}
