// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Model is a resource as it is in configuration, plan and state.
type Model[M, W any, ID comparable] interface {
	// Title names what is managed, such as: the tolerations of namespace "a".
	Title() string
	// Identity is what an import block by identity names.
	Identity() any
	// NewID returns the id of a create, "" while it is not known. A create that was killed
	// finds its own marks by it.
	NewID(ctx context.Context, owner string) string
	// WithID returns the model with this id.
	WithID(id string) M
	// Planned returns the model as it is planned: with what an apply leaves, and in the words of
	// the state where these mean the same. A create has no state.
	Planned(ctx context.Context, state *M, diags *diag.Diagnostics) M
	// Desired returns what the model wants, and what it may call its own; false while any of it
	// is not known, or something is wrong.
	Desired(ctx context.Context, own Ownership[ID], diags *diag.Diagnostics) (W, bool)
	// Released returns what a destroy gives up; false with an error where that is not known.
	Released(ctx context.Context, own Ownership[ID], diags *diag.Diagnostics) (W, bool)
}

// Desired is what a model wants.
type Desired[W any, ID comparable] interface {
	// TakingOver is the same of a create, which adopts what carries its id.
	TakingOver() W
	// Entries are those that are wanted.
	Entries() []ID
}

// Type is what a resource has of its own: S is what it observes, and W what it wants.
type Type[M, W, S any, ID comparable] interface {
	// Observe reads what the model is about. kube.ErrNotFound drops the state, and nothing else does.
	Observe(ctx context.Context, m M) (S, error)
	// Recover finds out again what a private state held that is lost.
	Recover(ctx context.Context, own Ownership[ID], state M, seen S, diags *diag.Diagnostics) Ownership[ID]
	// Refresh returns the state with what is observed of it.
	Refresh(ctx context.Context, state M, own Ownership[ID], seen S, diags *diag.Diagnostics) M
	// Claim notes what is planned, changed or not, so that a second resource that wants the same is
	// told at plan.
	Claim(w W, known bool, holder string, diags *diag.Diagnostics)
	// Preview refuses a change that cannot be, and reports what it does.
	Preview(ctx context.Context, w W, own Ownership[ID], diags *diag.Diagnostics)
	// Apply makes the change. The marks that the resource has then, on nodes and MachineSets and on
	// workloads and namespaces, are nil for a resource without proofs: see Ownership.Hold.
	Apply(ctx context.Context, verb string, w W, diags *diag.Diagnostics) (nodes, lists record.Held, ok bool)
	// Import returns the state of what exists, and writes nothing to the cluster.
	Import(ctx context.Context, name string, own Ownership[ID], diags *diag.Diagnostics) (M, Ownership[ID])
}

// Skeleton is what Terraform calls of a resource. A type embeds it, and adds its schema.
type Skeleton[M Model[M, W, ID], W Desired[W, ID], S any, ID comparable] struct {
	Resource
	// Type is what embeds it.
	Type Type[M, W, S, ID]
	// IdentifiedBy is the one attribute of its identity, and Identifies describes it.
	IdentifiedBy, Identifies string
	// Unproved is set where a generation alone is believed: policies have no proofs. See record.Seal.
	Unproved bool
}

// IdentitySchema describes what an import block by identity names.
func (r *Skeleton[M, W, S, ID]) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		r.IdentifiedBy: identityschema.StringAttribute{RequiredForImport: true, Description: r.Identifies},
	}}
}

// Create makes what is planned. An error saves no state: the marks stay, and the next create
// adopts them.
func (r *Skeleton[M, W, S, ID]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	id := session.IDOf(ctx, req.Plan)
	if id == "" {
		// The parts of the id were unknown at plan.
		id = plan.NewID(ctx, r.Data.Owner)
	}
	own := NewOwnership[ID](cluster)
	plan = plan.WithID(id)
	desired, known := plan.Desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	r.Data.Created.Store(id, true)
	if nodes, lists, ok := r.Type.Apply(ctx, "create", desired.TakingOver(), &resp.Diagnostics); ok {
		save(ctx, plan, own.Hold(nodes, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update makes what is planned.
func (r *Skeleton[M, W, S, ID]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan M
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	id := session.IDOf(ctx, req.State)
	own, ok := r.owned(ctx, req.Private, id, state, &resp.Diagnostics)
	if !ok {
		return
	}
	plan = plan.WithID(id)
	desired, known := plan.Desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if nodes, lists, ok := r.Type.Apply(ctx, "update", desired, &resp.Diagnostics); ok {
		save(ctx, plan, own.Keep(desired.Entries()).Hold(nodes, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Delete gives up what this generation owns. What another object adopts in the same run stays.
func (r *Skeleton[M, W, S, ID]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state M
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	own, ok := r.owned(ctx, req.Private, session.IDOf(ctx, req.State), state, &resp.Diagnostics)
	if !ok {
		return
	}
	if released, known := state.Released(ctx, own, &resp.Diagnostics); known {
		r.Type.Apply(ctx, "delete", released, &resp.Diagnostics)
	}
}

// Read compares the cluster with the state. State is dropped where what it is about does not exist,
// and on nothing else.
func (r *Skeleton[M, W, S, ID]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state M
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tfschema.KeepIdentity(ctx, resp.Identity, state.Identity(), &resp.Diagnostics)
	own := LoadOwnership[ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	seen, cluster, err := r.observe(ctx, state, own.Cluster, &resp.Diagnostics)
	switch {
	case errors.Is(err, kube.ErrNotFound):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		// The stored state stays as it is.
		r.Data.Unreadable(state.Title(), err, &resp.Diagnostics)
		return
	case resp.Diagnostics.HasError():
		return
	}
	if r.lost(own) {
		own = r.Type.Recover(ctx, own, state, seen, &resp.Diagnostics)
	}
	own.Cluster = cluster
	if state = r.Type.Refresh(ctx, state, own, seen, &resp.Diagnostics); !resp.Diagnostics.HasError() {
		save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// ImportState takes what exists into the state. It writes nothing to the cluster.
func (r *Skeleton[M, W, S, ID]) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := types.StringValue(req.ID)
	if req.ID == "" && req.Identity != nil {
		resp.Diagnostics.Append(req.Identity.GetAttribute(ctx, path.Root(r.IdentifiedBy), &name)...)
	}
	cluster, ok := r.Data.Connected(ctx, "", &resp.Diagnostics)
	if !ok || resp.Diagnostics.HasError() {
		return
	}
	state, own := r.Type.Import(ctx, name.ValueString(), NewOwnership[ID](cluster), &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// ModifyPlan completes the plan, and reports what the change does.
//
// It runs again at apply: nothing that it learns from the cluster may go into the plan itself.
func (r *Skeleton[M, W, S, ID]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	var state *M
	var own Ownership[ID]
	id := session.IDOf(ctx, req.State)
	// A replacement claims its entries a second time, with the private state of what it replaces.
	holder := LoadOwnership[ID](ctx, req.Private, id, &resp.Diagnostics)
	if !req.State.Raw.IsNull() {
		state = new(M)
		resp.Diagnostics.Append(req.State.Get(ctx, state)...)
		r.Data.NoteDestroy(ctx, req.Plan, r.Name, (*state).NewID, &resp.Diagnostics)
		var err error
		if own, err = r.ownership(ctx, req.Private, id, *state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable((*state).Title(), err, &resp.Diagnostics)
			return
		}
		own.RefuseImportedTwice(r.Data, id, req.Plan.Raw.IsNull(), &resp.Diagnostics)
		holder = own
	}
	if req.Plan.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	var plan M
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if !resp.Diagnostics.HasError() {
		r.plan(ctx, state, plan, own, session.Holder(holder.Generation), req.State, resp)
	}
}

// plan completes the plan of a create, where there is no state, or of an update.
func (r *Skeleton[M, W, S, ID]) plan(ctx context.Context, state *M, plan M, own Ownership[ID], holder string, before tfsdk.State, resp *resource.ModifyPlanResponse) {
	plan = plan.Planned(ctx, state, &resp.Diagnostics)
	if state == nil {
		if id := plan.NewID(ctx, r.Data.Owner); id != "" {
			plan = plan.WithID(id)
			r.Data.NoteCreate(r.Name, id, &resp.Diagnostics)
		}
	}
	desired, known := plan.Desired(ctx, own, &resp.Diagnostics)
	if state == nil && known {
		desired = desired.TakingOver()
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	r.Type.Claim(desired, known, holder, &resp.Diagnostics)
	if known && !resp.Diagnostics.HasError() && !resp.Plan.Raw.Equal(before.Raw) {
		r.Type.Preview(ctx, desired, own, &resp.Diagnostics)
	}
}

// observe reads what a model is about, and returns the cluster's id. A cluster other than the
// expected one is an error in the diagnostics, before anything else is read.
func (r *Skeleton[M, W, S, ID]) observe(ctx context.Context, m M, expected string, diags *diag.Diagnostics) (seen S, cluster string, err error) {
	cluster, err = r.Data.Identify(ctx, expected, diags)
	if err == nil && !diags.HasError() {
		seen, err = r.Type.Observe(ctx, m)
	}
	return seen, cluster, err
}

// lost reports whether a private state has lost its ownership, because an update was killed.
func (r *Skeleton[M, W, S, ID]) lost(own Ownership[ID]) bool {
	return own.Generation == "" || !r.Unproved && !own.Sealed()
}

// ownership loads the private state of an existing instance, or recovers what it held. The error
// is that of reading the cluster for it.
func (r *Skeleton[M, W, S, ID]) ownership(ctx context.Context, private session.PrivateReader, id string, state M, diags *diag.Diagnostics) (Ownership[ID], error) {
	own := LoadOwnership[ID](ctx, private, id, diags)
	if !r.lost(own) || diags.HasError() {
		return own, nil
	}
	seen, _, err := r.observe(ctx, state, own.Cluster, diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return r.Type.Recover(ctx, own, state, seen, diags), nil
}

// owned returns what an existing instance owns, on the cluster that it is on.
func (r *Skeleton[M, W, S, ID]) owned(ctx context.Context, private session.PrivateReader, id string, state M, diags *diag.Diagnostics) (Ownership[ID], bool) {
	if diags.HasError() {
		return Ownership[ID]{}, false
	}
	own, err := r.ownership(ctx, private, id, state, diags)
	return Connect(ctx, r.Data, own, id, err, diags)
}

// save writes state, identity and private state.
func save[M Model[M, W, ID], W any, ID comparable](ctx context.Context, m M, own Ownership[ID], state *tfsdk.State, identity *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if identity != nil {
		diags.Append(identity.Set(ctx, m.Identity())...)
	}
}
