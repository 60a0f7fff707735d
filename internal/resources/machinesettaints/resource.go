// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ resource.ResourceWithConfigure        = (*machineSetTaints)(nil)
	_ resource.ResourceWithConfigValidators = (*machineSetTaints)(nil)
	_ resource.ResourceWithValidateConfig   = (*machineSetTaints)(nil)
	_ resource.ResourceWithModifyPlan       = (*machineSetTaints)(nil)
	_ resource.ResourceWithImportState      = (*machineSetTaints)(nil)
	_ resource.ResourceWithIdentity         = (*machineSetTaints)(nil)
)

// defaultTimeout leaves machines their time: a drain that was refused is tried again
// after ten minutes at worst, and a machine takes as long to come.
const defaultTimeout = 60 * time.Minute

type machineSetTaints struct {
	managed.Resource
}

// named is the resource, and the list resource of it. Its identity changes with its taints.
var named = managed.Resource{Name: "machine_set_taints", IdentityChanges: true}

// NewResource returns the resource.
func NewResource() resource.Resource {
	return &machineSetTaints{named}
}

// ConfigValidators reports which attributes go together.
func (r *machineSetTaints) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("name"), path.MatchRoot("selector"))}
}

// ValidateConfig refuses reserved taints, and parameters of another strategy.
func (r *machineSetTaints) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	message.RefuseReserved("taints", config.Taints, &resp.Diagnostics)
	where := "MachineSets"
	if target, known := config.targets(&diag.Diagnostics{}); known {
		where = target.Place()
	}
	message.WarnSystemKeys("taints", where, config.Taints, &resp.Diagnostics)
	tfschema.RefuseRolloutParameters(ctx, path.Root("rollout"), config.Rollout, &resp.Diagnostics)
}

// Create writes the template, and rolls out. An error saves no state: the marks on
// the MachineSets stay, and the next create adopts them and goes on.
func (r *machineSetTaints) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	own := managed.NewOwnership[taint.ID](cluster)
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if plan.ID.IsUnknown() {
		// The parts of the id were unknown at plan.
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
	}
	desired.Claim.Owner, desired.Claim.TakeOver = plan.ID.ValueString(), true
	desired.known = r.Data.Join(ctx, resp.Private, &resp.Diagnostics, plan.ToleratedBy)
	r.Data.Created.Store(desired.Claim.Owner, desired.Claim)
	if r.apply(ctx, "create", plan, desired, timeout, &resp.Diagnostics) {
		r.save(ctx, plan, own.Hold(r.held(ctx, desired), record.Held{}), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update makes the taints as planned.
func (r *machineSetTaints) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	before, _ := state.desired(ctx, own, &resp.Diagnostics)
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	desired.known = session.Remembered(ctx, req.Private, &resp.Diagnostics)
	if desired = desired.retire(before); r.apply(ctx, "update", plan, desired, timeout, &resp.Diagnostics) {
		r.save(ctx, plan, own.Keep(taint.IDs(desired.Claim.Taints)).Hold(r.held(ctx, desired), record.Held{}), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Delete gives up every entry of this generation, with the same rollout. What another
// object adopts in the same run stays.
func (r *machineSetTaints) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	timeout, found := state.Timeouts.Delete(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	desired, known := state.desired(ctx, own, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	desired.known = session.Remembered(ctx, req.Private, &resp.Diagnostics)
	desired.Claim.Release, desired.replaces = true, session.Replaced(ctx, req.Private, &resp.Diagnostics)
	r.apply(ctx, "delete", state, desired.retire(desired), timeout, &resp.Diagnostics)
}

// owned returns what an existing instance owns, in the cluster that it was written
// for.
func (r *machineSetTaints) owned(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, bool) {
	if diags.HasError() {
		return ownership{}, false
	}
	own, err := r.ownership(ctx, private, state, diags)
	return managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, diags)
}

// held returns what the resource has of its own on MachineSets after an apply, nil where that is
// not known.
func (r *machineSetTaints) held(ctx context.Context, desired wanted) record.Held {
	sets, err := r.Data.Cluster.MachineSets(ctx)
	if err != nil {
		return nil
	}
	held := record.Held{}
	desired.sets().Hold(sets, held)
	return held
}

// save writes state, identity and private state.
func (r *machineSetTaints) save(ctx context.Context, m model, own ownership, desired wanted, state *tfsdk.State, to *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	r.note(ctx, &m, desired, diags)
	own.Save(ctx, private, diags)
	session.ForgetReplaced(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if to != nil {
		diags.Append(to.Set(ctx, identityOf(ctx, m, desired, diags))...)
	}
}
