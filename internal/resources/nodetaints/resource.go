// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ resource.ResourceWithConfigure        = (*nodeTaints)(nil)
	_ resource.ResourceWithConfigValidators = (*nodeTaints)(nil)
	_ resource.ResourceWithValidateConfig   = (*nodeTaints)(nil)
	_ resource.ResourceWithModifyPlan       = (*nodeTaints)(nil)
	_ resource.ResourceWithImportState      = (*nodeTaints)(nil)
	_ resource.ResourceWithIdentity         = (*nodeTaints)(nil)
	_ resource.ResourceWithMoveState        = (*nodeTaints)(nil)
)

// defaultTimeout leaves a new machine time to join the cluster.
const defaultTimeout = 10 * time.Minute

type nodeTaints struct {
	managed.Resource
}

// named is the resource, and the list resource of it. Its identity changes with its taints.
var named = managed.Resource{Name: "node_taints", IdentityChanges: true}

// NewResource returns the resource.
func NewResource() resource.Resource {
	return &nodeTaints{named}
}

// ConfigValidators reports which attributes go together.
func (r *nodeTaints) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{
		resourcevalidator.ExactlyOneOf(path.MatchRoot("node_name"), path.MatchRoot("node_selector")),
		resourcevalidator.AtLeastOneOf(path.MatchRoot("taints"), path.MatchRoot("absent_taints")),
	}
}

// Create writes the taints and waits for the node before that, if need be.
// An error saves no state: the marks on the nodes stay, and the next create
// adopts them.
func (r *nodeTaints) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	own := managed.NewOwnership[taint.ID](cluster)
	desired, _ := plan.desired(ctx, own, &resp.Diagnostics)
	if plan.ID.IsUnknown() {
		// The parts of the id were unknown at plan.
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
		desired.Claim.Owner = plan.ID.ValueString()
	}
	desired.Claim.TakeOver, desired.Known = true, r.Data.Join(ctx, resp.Private, &resp.Diagnostics, plan.ToleratedBy)
	r.Data.Created.Store(desired.Claim.Owner, true)
	if !r.apply(ctx, "create", plan, desired, &resp.Diagnostics) {
		return
	}
	r.save(ctx, plan, own.Hold(r.held(ctx, desired), record.Held{}), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

// Update makes the taints as planned: arrivals before leavers, by the marks on
// the nodes.
func (r *nodeTaints) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, err := r.ownership(ctx, req.Private, state, &resp.Diagnostics)
	own, ok := managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, &resp.Diagnostics)
	if !ok {
		return
	}
	before, _ := state.desired(ctx, own, &resp.Diagnostics)
	desired, _ := plan.desired(ctx, own, &resp.Diagnostics)
	desired.Former, desired.Known = before.Claim.IDs(), session.Remembered(ctx, req.Private, &resp.Diagnostics)
	desired.MachinesPlanned = session.MachinesPlanned(ctx, req.Private, &resp.Diagnostics)
	if resp.Diagnostics.HasError() || !r.apply(ctx, "update", plan, desired, &resp.Diagnostics) {
		return
	}
	r.save(ctx, plan, own.Keep(taint.IDs(desired.Claim.Taints)).Hold(r.held(ctx, desired), record.Held{}), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

// Delete gives up every entry of this generation and puts back what stood
// there before. What another object adopts in the same run stays.
func (r *nodeTaints) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	timeout, found := state.Timeouts.Delete(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, err := r.ownership(ctx, req.Private, state, &resp.Diagnostics)
	own, ok := managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, &resp.Diagnostics)
	if !ok {
		return
	}
	desired, _ := state.desired(ctx, own, &resp.Diagnostics)
	desired.Claim.Release = true
	if own.Moved {
		desired.Claim.Imported = nil
	}
	desired.Known = session.Remembered(ctx, req.Private, &resp.Diagnostics)
	desired.MachinesPlanned = session.MachinesPlanned(ctx, req.Private, &resp.Diagnostics)
	desired.Replaced = session.Replaced(ctx, req.Private, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() && r.apply(ctx, "delete", state, desired, &resp.Diagnostics) {
		r.warnOrphans(ctx, desired, &resp.Diagnostics)
	}
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

// save writes state, identity and private state.
func (r *nodeTaints) save(ctx context.Context, m model, own ownership, desired planner.NodeTaints, state *tfsdk.State, identity *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	m.Nodes = noNodes()
	own.Save(ctx, private, diags)
	session.ForgetMachines(ctx, private, diags)
	session.ForgetReplaced(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if identity != nil {
		diags.Append(identity.Set(ctx, identityOf(ctx, desired, diags))...)
	}
}
