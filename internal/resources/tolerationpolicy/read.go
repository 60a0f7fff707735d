// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"
	"errors"
	"maps"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Read compares the policy with the state. State is dropped where neither the policy nor
// its binding exists, and on nothing else.
func (r *tolerationPolicy) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	tfschema.KeepIdentity(ctx, resp.Identity, identity{Name: state.Name}, &resp.Diagnostics)
	own := managed.LoadOwnership[string](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	cluster, err := r.Data.Identify(ctx, own.Cluster, &resp.Diagnostics)
	var seen *admission.Observed
	if err == nil && !resp.Diagnostics.HasError() {
		if seen, err = r.Data.Cluster.Policy(ctx, state.Name.ValueString()); err == nil && seen == nil {
			resp.State.RemoveResource(ctx)
			return
		}
	}
	if err != nil {
		// The stored state stays as it is.
		r.Data.Unreadable("toleration policy \""+state.Name.ValueString()+"\"", err, &resp.Diagnostics)
		return
	}
	if resp.Diagnostics.HasError() {
		return
	}
	if own.Generation == "" {
		own = recovered(own, state, seen, &resp.Diagnostics)
	}
	own.Cluster = cluster
	r.refresh(ctx, &state, seen, own, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		r.save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// refresh puts into the state what the cluster has of it. A policy that has another
// owner by now shows in nothing but objects.
func (r *tolerationPolicy) refresh(ctx context.Context, state *model, seen *admission.Observed, own ownership, diags *diag.Diagnostics) {
	if seen.Err != nil || seen.Generation != own.Generation {
		state.Objects = wrong(ctx, map[string]string{admission.PolicyKind: admission.Different}, diags)
		return
	}
	state.take(ctx, seen.Policy, own, diags)
	objects := maps.Clone(seen.Differs)
	if len(seen.Retiring) > 0 {
		claim, known := state.claim(ctx, own, diags)
		nodes, err := r.Data.Cluster.Nodes(ctx)
		if known && err == nil {
			if plan, err := claim.Plan(seen, rollout.Taints(nodes), r.Data.Comparison != eviction.ComparisonOff); err == nil && retires(seen, plan) {
				objects[admission.PolicyKind] = "retiring"
			}
		}
	}
	state.Objects = wrong(ctx, objects, diags)
}

// ownership loads the private state of an existing instance. Where it is lost, because an
// update was killed, a policy with the state's id is owned. The error is that of reading
// the cluster for it.
func (r *tolerationPolicy) ownership(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := managed.LoadOwnership[string](ctx, private, state.ID.ValueString(), diags)
	if own.Generation != "" || diags.HasError() {
		return own, nil
	}
	if r.Data == nil || r.Data.Cluster == nil {
		return own, kube.ErrUnreachable
	}
	seen, err := r.Data.Cluster.Policy(ctx, state.Name.ValueString())
	if err != nil {
		return own, err
	}
	return recovered(own, state, seen, diags), nil
}

func recovered(own ownership, state model, seen *admission.Observed, diags *diag.Diagnostics) ownership {
	generation := ""
	if seen != nil && seen.Err == nil && seen.Owner == state.ID.ValueString() {
		generation = seen.Generation
	} else {
		diags.Append(managed.NotThisCluster("No policy", state.ID.ValueString()))
	}
	return own.Recover(func() string { return generation })
}

// ImportState takes a policy of this provider into the state. It writes nothing to the
// cluster.
func (r *tolerationPolicy) ImportState(ctx context.Context, req resource.ImportStateRequest, resp *resource.ImportStateResponse) {
	name := req.ID
	if name == "" && req.Identity != nil {
		var id identity
		resp.Diagnostics.Append(req.Identity.Get(ctx, &id)...)
		name = id.Name.ValueString()
	}
	cluster, ok := r.Data.Connected(ctx, "", &resp.Diagnostics)
	if !ok || resp.Diagnostics.HasError() {
		return
	}
	seen, err := r.Data.Cluster.Policy(ctx, name)
	if err == nil && seen == nil {
		err = r.Data.Cluster.PoliciesServed()
	}
	switch {
	case err != nil:
		resp.Diagnostics.Append(explain("import", name, err))
		return
	case seen == nil:
		resp.Diagnostics.AddError("Unable to import toleration policy \""+name+"\"", "There is none of this name. The id is the name of the policy (kubectl get mutatingadmissionpolicies -l "+admission.ManagedByLabel+"="+admission.ManagedBy+").")
		return
	case seen.Err != nil:
		resp.Diagnostics.Append(explain("import", name, errors.Join(&admission.Conflict{Name: name}, seen.Err)))
		return
	}
	own := managed.NewOwnership[string](cluster)
	own.Generation = seen.Generation
	state := model{ID: types.StringValue(seen.Owner), Name: types.StringValue(name), Objects: wrong(ctx, seen.Differs, &resp.Diagnostics)}
	state.take(ctx, seen.Policy, own, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		r.save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}
