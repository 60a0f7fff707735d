// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Read compares the nodes with the state. It never takes up what others put on
// a node: the taints in the state are those of the configuration that was
// applied last, and only nodes reports where the cluster differs. State is dropped
// on one ground alone: the named node does not exist.
func (r *nodeTaints) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	own := managed.LoadOwnership[taint.ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	stored, _ := state.desired(ctx, own, &resp.Diagnostics)
	tfschema.KeepIdentity(ctx, resp.Identity, identityOf(ctx, stored, &resp.Diagnostics), &resp.Diagnostics)
	cluster, nodes, err := r.observe(ctx, own.Cluster, &resp.Diagnostics)
	if err != nil || resp.Diagnostics.HasError() {
		// The stored state stays as it is.
		r.Data.Unreadable("the nodes of \""+state.ID.ValueString()+"\"", err, &resp.Diagnostics)
		return
	}
	if !own.Sealed() {
		if own = recovered(ctx, own, state, nodes, &resp.Diagnostics); resp.Diagnostics.HasError() {
			return
		}
	}
	own.Cluster = cluster
	state.identifyMoved(ctx, r.Data.Owner, state, own, &resp.Diagnostics)
	desired, _ := state.desired(ctx, own, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if desired.Target.Selector == nil && !exists(nodes, desired.Target.Name) {
		resp.State.RemoveResource(ctx)
		return
	}
	message.WarnRestoredNodes(nodes, desired.Claim, label.Claim{}, &resp.Diagnostics)
	plan := planner.PlanNodes(nodes, desired)
	state.Nodes = deviations(ctx, plan.Deviations, &resp.Diagnostics)
	own.Save(ctx, resp.Private, &resp.Diagnostics)
	r.Data.Link(ctx, req.Private, resp.Private, &resp.Diagnostics, state.ToleratedBy)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	if resp.Identity != nil {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(ctx, desired, &resp.Diagnostics))...)
	}
}

// ownership loads the private state of an existing instance, or recovers what
// it held. The error is that of reading the cluster for it.
func (r *nodeTaints) ownership(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := managed.LoadOwnership[taint.ID](ctx, private, state.ID.ValueString(), diags)
	if own.Sealed() || diags.HasError() {
		return own, nil
	}
	_, nodes, err := r.observe(ctx, own.Cluster, diags)
	if err != nil {
		return own, err
	}
	return recovered(ctx, own, state, nodes, diags), nil
}

// observe returns the cluster's id and its nodes. A cluster other than the
// expected one is an error in the diagnostics, before anything else is read.
func (r *nodeTaints) observe(ctx context.Context, expected string, diags *diag.Diagnostics) (string, []*snapshot.Node, error) {
	cluster, err := r.Data.Identify(ctx, expected, diags)
	if err != nil || diags.HasError() {
		return "", nil, err
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	return cluster, nodes, err
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
