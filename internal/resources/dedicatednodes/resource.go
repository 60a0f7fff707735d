// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

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
	_ resource.ResourceWithConfigure        = (*dedicatedNodes)(nil)
	_ resource.ResourceWithConfigValidators = (*dedicatedNodes)(nil)
	_ resource.ResourceWithValidateConfig   = (*dedicatedNodes)(nil)
	_ resource.ResourceWithModifyPlan       = (*dedicatedNodes)(nil)
	_ resource.ResourceWithImportState      = (*dedicatedNodes)(nil)
	_ resource.ResourceWithIdentity         = (*dedicatedNodes)(nil)
)

const (
	// kind is in ids between the owner and the nodes.
	kind = "dedicated_nodes"

	// defaultTimeout leaves slow rollouts their time.
	defaultTimeout = 20 * time.Minute

	// machinesTimeout leaves machines theirs, as kubetaint_machine_set_taints does.
	machinesTimeout = 60 * time.Minute
)

type dedicatedNodes struct {
	managed.Resource
}

// NewResource returns the resource. Its identity changes with its nodes and taints.
func NewResource() resource.Resource {
	return &dedicatedNodes{managed.Resource{Name: kind, IdentityChanges: true}}
}

// ConfigValidators reports which attributes go together.
func (r *dedicatedNodes) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("node_names"), path.MatchRoot("node_selector"), path.MatchRoot("machine_sets"))}
}

// Create writes the desired state. An error saves no state: the marks on nodes
// and workloads stay, and the next create adopts them and goes on.
func (r *dedicatedNodes) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Create(ctx, plan.usualTimeout())
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
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if plan.ID.IsUnknown() {
		// The parts of the id were unknown at plan.
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
	}
	desired = desired.as(plan.ID.ValueString())
	desired.nodes.Known = r.Data.Join(ctx, resp.Private, &resp.Diagnostics)
	r.Data.Created.Store(desired.owner(), desired.nodes.Claim)
	if done, ok := r.apply(ctx, "create", plan, desired, &resp.Diagnostics); ok {
		plan.take(ctx, done.Steps, &resp.Diagnostics)
		r.save(ctx, plan, own.Hold(r.held(ctx, desired), planner.HoldAll(done.Workloads)), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update makes everything as planned, and takes away from nodes and workloads
// that are not meant any more what is owned there.
func (r *dedicatedNodes) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Update(ctx, plan.usualTimeout())
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	before, _ := state.desired(ctx, own, &resp.Diagnostics)
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	desired.nodes.Known = session.Remembered(ctx, req.Private, &resp.Diagnostics)
	desired.nodes.MachinesPlanned = session.MachinesPlanned(ctx, req.Private, &resp.Diagnostics)
	desired = r.withLeavers(ctx, desired, before, &resp.Diagnostics).retire(before).without(before)
	done, ok := r.apply(ctx, "update", plan, desired, &resp.Diagnostics)
	if !ok {
		own.Drifted = true
		own.Save(ctx, resp.Private, &resp.Diagnostics)
		return
	}
	plan.take(ctx, done.Steps, &resp.Diagnostics)
	r.save(ctx, plan, own.Keep(taint.IDs(desired.nodes.Claim.Taints)).Hold(r.held(ctx, desired), planner.HoldAll(done.Workloads)), desired, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

// Delete gives up every entry of this generation: taints first, then tolerations
// and pins, and labels when no pod requires them any more. Taints that another object
// adopts in the same run stay, and with them the tolerations that pods need.
func (r *dedicatedNodes) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	timeout, found := state.Timeouts.Delete(ctx, state.usualTimeout())
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, ok := r.owned(ctx, req.Private, state, &resp.Diagnostics)
	if !ok {
		return
	}
	desired, known := state.desired(ctx, own, &resp.Diagnostics)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	desired.nodes.Known = session.Remembered(ctx, req.Private, &resp.Diagnostics)
	desired.nodes.MachinesPlanned = session.MachinesPlanned(ctx, req.Private, &resp.Diagnostics)
	desired.nodes.Replaced = session.Replaced(ctx, req.Private, &resp.Diagnostics)
	desired = r.withLeavers(ctx, desired, wanted{}, &resp.Diagnostics).released().retire(desired)
	if _, ok := r.apply(ctx, "delete", state, desired, &resp.Diagnostics); ok {
		r.warnOrphans(ctx, desired, &resp.Diagnostics)
	}
}

// usualTimeout is how long a change may take where nothing is said.
func (m model) usualTimeout() time.Duration {
	if m.MachineSets.IsNull() {
		return defaultTimeout
	}
	return machinesTimeout
}

// owned returns what an existing instance owns, in the cluster that it was
// written for.
func (r *dedicatedNodes) owned(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, bool) {
	if diags.HasError() {
		return ownership{}, false
	}
	own, err := r.ownership(ctx, private, state, diags)
	return managed.Connect(ctx, r.Data, own, state.ID.ValueString(), err, diags)
}

// take puts into the model what an apply has done.
func (m *model) take(ctx context.Context, steps []string, diags *diag.Diagnostics) {
	if steps == nil {
		steps = []string{}
	}
	list, found := types.ListValueFrom(ctx, types.StringType, steps)
	diags.Append(found...)
	m.Steps, m.Drift = list, noDrift()
}

// held returns the marks that the resource has on nodes or MachineSets after an apply, nil where
// that is not known.
func (r *dedicatedNodes) held(ctx context.Context, desired wanted) record.Held {
	held := record.Held{}
	if of := desired.sets(); of != nil {
		sets, err := r.Data.Cluster.MachineSets(ctx)
		if err != nil {
			return nil
		}
		of.Hold(sets, held)
		return held
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err != nil {
		return nil
	}
	desired.nodes.Hold(nodes, held)
	desired.labels.Hold(nodes, held)
	return held
}

// save writes state, identity and private state.
func (r *dedicatedNodes) save(ctx context.Context, m model, own ownership, desired wanted, state *tfsdk.State, to *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	session.ForgetMachines(ctx, private, diags)
	session.ForgetReplaced(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if to != nil {
		diags.Append(to.Set(ctx, identityOf(ctx, desired, diags))...)
	}
}
