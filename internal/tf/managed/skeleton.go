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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Skeleton is what Terraform calls of a resource. A type embeds it, and adds its schema.
type Skeleton[M Model[M, W, ID], W Desired[W, ID], S any, ID comparable] struct {
	Resource
	// Type is what embeds it.
	Type Type[M, W, S, ID]
	// IdentifiedBy is the one attribute of its identity, and Identifies describes it. A type that is
	// identified by more has an IdentitySchema of its own.
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
// adopts them and goes on.
func (r *Skeleton[M, W, S, ID]) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(&resp.Diagnostics, req.Plan.Raw) }()
	var plan M
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Plan.Raw, req.Plan.Schema, &plan)...)
	ctx, cancel := limit(ctx, "create", plan, &resp.Diagnostics)
	defer cancel()
	if resp.Diagnostics.HasError() {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	id := session.IDOf(req.Plan.Raw)
	if id == "" {
		// The parts of the id were unknown at plan.
		id = plan.NewID(ctx, r.Data.Owner)
	}
	c := Operation[M, W, ID]{Verb: "create", Model: plan.WithID(id), Own: NewOwnership[ID](cluster), Private: resp.Private}
	desired, known := c.Model.Desired(ctx, c.Own, &resp.Diagnostics)
	if !known {
		return
	}
	c.Want, c.Known = desired.TakingOver(), r.join(ctx, c, &resp.Diagnostics)
	r.Data.Created.Store(id, true)
	r.apply(ctx, c, &resp.State, resp.Identity, &resp.Diagnostics)
}

// Update makes what is planned.
func (r *Skeleton[M, W, S, ID]) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(&resp.Diagnostics, req.State.Raw) }()
	var state, plan M
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.State.Raw, req.State.Schema, &state)...)
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Plan.Raw, req.Plan.Schema, &plan)...)
	ctx, cancel := limit(ctx, "update", plan, &resp.Diagnostics)
	defer cancel()
	own, ok := r.owned(ctx, req.Private, session.IDOf(req.State.Raw), state, &resp.Diagnostics)
	if !ok {
		return
	}
	c := Operation[M, W, ID]{Verb: "update", Model: plan, Former: &state, Own: own, Memory: session.Recall(ctx, req.Private, &resp.Diagnostics), Private: resp.Private}
	if desired, known := plan.Desired(ctx, own, &resp.Diagnostics); known {
		c.Want = desired
		r.apply(ctx, c, &resp.State, resp.Identity, &resp.Diagnostics)
	}
}

// Delete gives up what this generation owns. What another object adopts in the same run stays.
func (r *Skeleton[M, W, S, ID]) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(&resp.Diagnostics, req.State.Raw) }()
	var state M
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.State.Raw, req.State.Schema, &state)...)
	ctx, cancel := limit(ctx, "delete", state, &resp.Diagnostics)
	defer cancel()
	own, ok := r.owned(ctx, req.Private, session.IDOf(req.State.Raw), state, &resp.Diagnostics)
	if !ok {
		return
	}
	if released, known := state.Released(ctx, own, &resp.Diagnostics); known {
		r.Type.Apply(ctx, Operation[M, W, ID]{Verb: "delete", Model: state, Want: released, Own: own, Memory: session.Recall(ctx, req.Private, &resp.Diagnostics)}, &resp.Diagnostics)
	}
}

// apply makes a change, and saves what it has left.
func (r *Skeleton[M, W, S, ID]) apply(ctx context.Context, c Operation[M, W, ID], state *tfsdk.State, identity *tfsdk.ResourceIdentity, diags *diag.Diagnostics) {
	if left := r.Type.Apply(ctx, c, diags); left != nil {
		Save(ctx, left.Model, c.Own.Keep(c.Want.Entries()).Hold(left.Held, left.Lists), state, identity, c.Private, diags)
		session.Forget(ctx, c.Private, diags)
	}
}

// Read compares the cluster with the state. State is dropped where what it is about does not exist,
// and on nothing else.
func (r *Skeleton[M, W, S, ID]) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(&resp.Diagnostics, req.State.Raw) }()
	diags := &resp.Diagnostics
	var state M
	diags.Append(tfschema.Decode(ctx, req.State.Raw, req.State.Schema, &state)...)
	own := LoadOwnership[ID](ctx, req.Private, session.IDOf(req.State.Raw), diags)
	if diags.HasError() {
		return
	}
	tfschema.KeepIdentity(ctx, resp.Identity, state.Identity(ctx, diags), diags)
	seen, cluster, err := r.Inspect(ctx, state, own, diags)
	if err == nil && r.lost(own) && !diags.HasError() {
		own, err = r.Type.Recover(ctx, own, state, seen, diags)
	}
	own.Cluster = cluster
	if err == nil && !diags.HasError() {
		state, own, err = r.Type.Refresh(ctx, r.identified(ctx, state, state, own), own, seen, diags)
	}
	switch {
	case errors.As(err, new(gone)):
		resp.State.RemoveResource(ctx)
	case err != nil:
		// The stored state stays as it is.
		r.Data.Unreadable(state.Title(ctx), err, diags)
	case !diags.HasError():
		Save(ctx, state, own, &resp.State, resp.Identity, resp.Private, diags)
		if linked, is := any(state).(Linked); is {
			r.Data.Link(ctx, req.Private, resp.Private, diags, linked.Links())
		}
	}
}

// ImportState takes what exists into the state. It writes nothing to the cluster.
func (r *Skeleton[M, W, S, ID]) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	if state, own := r.Type.Import(ctx, req, &resp.Diagnostics); !resp.Diagnostics.HasError() {
		Save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Named begins the import of a type that is identified by one attribute: it returns the id or the value
// of the attribute.
func (r *Skeleton[M, W, S, ID]) Named(ctx context.Context, req resource.ImportStateRequest, diags *diag.Diagnostics) (string, Ownership[ID], bool) {
	name := types.StringValue(req.ID)
	if req.ID == "" && req.Identity != nil {
		diags.Append(req.Identity.GetAttribute(ctx, path.Root(r.IdentifiedBy), &name)...)
	}
	cluster, ok := r.Data.Connected(ctx, "", diags)
	return name.ValueString(), NewOwnership[ID](cluster), ok && !diags.HasError()
}

// ModifyPlan completes the plan, and reports what the change does.
//
// It runs again at apply: nothing that it learns from the cluster may go into the plan itself.
func (r *Skeleton[M, W, S, ID]) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(&resp.Diagnostics, resp.Plan.Raw, req.State.Raw) }()
	diags, ctx := &resp.Diagnostics, session.Logging(ctx)
	c := Operation[M, W, ID]{Verb: "create", Private: resp.Private}
	c.Own = LoadOwnership[ID](ctx, req.Private, session.IDOf(req.State.Raw), diags)
	var state *M
	if !req.State.Raw.IsNull() {
		state = new(M)
		diags.Append(tfschema.Decode(ctx, req.State.Raw, req.State.Schema, state)...)
		r.Data.NoteDestroy(ctx, req.Plan, r.Name, (*state).NewID, diags)
		var err error
		if c.Own, err = r.recovered(ctx, c.Own, *state, diags); err != nil {
			r.Data.Unreadable((*state).Title(ctx), err, diags)
			return
		}
		c.Own.RefuseImportedTwice(r.Data, session.IDOf(req.State.Raw), req.Plan.Raw.IsNull(), diags)
	}
	switch {
	case diags.HasError():
	case req.Plan.Raw.IsNull():
		r.planDestroy(ctx, c, *state, diags)
	default:
		if diags.Append(tfschema.Decode(ctx, req.Plan.Raw, req.Plan.Schema, &c.Model)...); !diags.HasError() {
			r.plan(ctx, c, state, req.State, resp)
		}
	}
}

// planDestroy previews a destroy.
func (r *Skeleton[M, W, S, ID]) planDestroy(ctx context.Context, c Operation[M, W, ID], state M, diags *diag.Diagnostics) {
	var known bool
	c.Verb, c.Model = "delete", state
	if c.Want, known = state.Released(ctx, c.Own, diags); known {
		r.preview(ctx, c, diags)
	}
}

// plan completes the plan of a create, where there is no state, or of an update.
func (r *Skeleton[M, W, S, ID]) plan(ctx context.Context, c Operation[M, W, ID], state *M, before tfsdk.State, resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	c.Model = c.Model.Planned(ctx, state, c.Own, diags)
	if state != nil {
		c.Verb, c.Former, c.Model = "update", state, r.identified(ctx, c.Model, *state, c.Own)
	} else if id := c.Model.NewID(ctx, r.Data.Owner); id != "" {
		c.Model = c.Model.WithID(id)
		r.Data.NoteCreate(r.Name, id, diags)
	}
	desired, known := c.Model.Desired(ctx, c.Own, diags)
	if c.Want = desired; state == nil && known {
		c.Want = desired.TakingOver()
	}
	diags.Append(tfschema.Encode(ctx, c.Model, resp.Plan.Schema, &resp.Plan.Raw)...)
	if !known || diags.HasError() || resp.Plan.Raw.Equal(before.Raw) {
		r.Type.Claim(ctx, c, known, diags)
		return
	}
	r.preview(ctx, c, diags)
}

// preview leaves to the apply what it must know of the plan, and reports what the change does.
func (r *Skeleton[M, W, S, ID]) preview(ctx context.Context, c Operation[M, W, ID], diags *diag.Diagnostics) {
	c.Known = r.join(ctx, c, diags)
	session.NoteReplaced(ctx, c.Verb == "create" && c.Own.Generation != "", c.Private, diags)
	r.Type.Preview(ctx, c, diags)
}

// identified gives a model the id that its state did not get where it was moved: no provider was
// configured then, so that the owner was not known.
func (r *Skeleton[M, W, S, ID]) identified(ctx context.Context, m, state M, own Ownership[ID]) M {
	if !own.Moved {
		return m
	}
	return m.WithID(state.NewID(ctx, r.Data.Owner))
}

// join exchanges proofs with the other resources of the run, where the type writes taints.
func (r *Skeleton[M, W, S, ID]) join(ctx context.Context, c Operation[M, W, ID], diags *diag.Diagnostics) []record.Seal {
	if links := c.Links(); links != nil {
		return r.Data.Join(ctx, c.Private, diags, links...)
	}
	return nil
}

// limit ends a change of a model with timeouts in time, and has it log to Terraform's log.
func limit[M any](ctx context.Context, verb string, m M, diags *diag.Diagnostics) (context.Context, context.CancelFunc) {
	ctx = session.Logging(ctx)
	if timed, is := any(m).(Timed); is {
		return context.WithTimeout(ctx, timed.Timeout(ctx, verb, diags))
	}
	return ctx, func() {}
}

// Inspect observes what a model is about, and returns the cluster's id. A cluster other than that of the
// ownership is an error in the diagnostics, before anything else is read.
func (r *Skeleton[M, W, S, ID]) Inspect(ctx context.Context, m M, own Ownership[ID], diags *diag.Diagnostics) (seen S, cluster string, err error) {
	cluster, err = r.Data.Identify(ctx, own.Cluster, diags)
	if err == nil && !diags.HasError() {
		seen, err = r.Type.Observe(ctx, m, own, diags)
	}
	return seen, cluster, err
}

// lost reports whether a private state has lost its ownership, because an update was killed.
func (r *Skeleton[M, W, S, ID]) lost(own Ownership[ID]) bool {
	return own.Generation == "" || !r.Unproved && !own.Sealed()
}

// recovered returns what an existing instance owns, from what its private state has. The error is that of
// reading the cluster for it.
func (r *Skeleton[M, W, S, ID]) recovered(ctx context.Context, own Ownership[ID], state M, diags *diag.Diagnostics) (Ownership[ID], error) {
	if !r.lost(own) || diags.HasError() {
		return own, nil
	}
	seen, _, err := r.Inspect(ctx, state, own, diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return r.Type.Recover(ctx, own, state, seen, diags)
}

// owned returns what an existing instance owns, on the cluster that it is on.
func (r *Skeleton[M, W, S, ID]) owned(ctx context.Context, private session.PrivateReader, id string, state M, diags *diag.Diagnostics) (Ownership[ID], bool) {
	if diags.HasError() {
		return Ownership[ID]{}, false
	}
	own, err := r.recovered(ctx, LoadOwnership[ID](ctx, private, id, diags), state, diags)
	return Connect(ctx, r.Data, own, id, err, diags)
}

// Save writes state, identity and private state.
func Save[M Model[M, W, ID], W any, ID comparable](ctx context.Context, m M, own Ownership[ID], state *tfsdk.State, identity *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	diags.Append(tfschema.Encode(ctx, m, state.Schema, &state.Raw)...)
	if identity != nil {
		diags.Append(tfschema.Encode(ctx, m.Identity(ctx, diags), identity.Schema, &identity.Raw)...)
	}
}
