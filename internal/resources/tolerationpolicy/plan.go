// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ModifyPlan completes the plan, has the API server check it, and tells the other
// resources of the run what pods will be given.
func (r *tolerationPolicy) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	// A replacement claims its name a second time, with the private state of what it replaces.
	var own ownership
	holder := managed.LoadOwnership[string](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	var state, plan model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.Data.NoteDestroy(ctx, req.Plan, "toleration_policy", func(_ context.Context, owner string) string { return admission.NewID(owner, state.Name.ValueString()) }, &resp.Diagnostics)
		var err error
		if own, err = r.ownership(ctx, req.Private, state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable("toleration policy \""+state.Name.ValueString()+"\"", err, &resp.Diagnostics)
			return
		}
		holder = own
	}
	if req.Plan.Raw.IsNull() || resp.Diagnostics.HasError() {
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if creating {
		if !plan.Name.IsUnknown() {
			plan.ID = types.StringValue(admission.NewID(r.Data.Owner, plan.Name.ValueString()))
			r.Data.NoteCreate("toleration_policy", plan.ID.ValueString(), &resp.Diagnostics)
		}
	} else {
		plan.keepWording(ctx, state)
	}
	plan.Objects = wrong(ctx, nil, &resp.Diagnostics)
	claim, known := plan.claim(ctx, own, &resp.Diagnostics)
	claim.TakeOver = creating
	r.Data.ClaimPolicy(session.Holder(holder.Generation), plan.Name.ValueString(), nameAt, &resp.Diagnostics)
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	r.Data.Policies.Note(claim.Owner, claim.Policy)
	if creating || !resp.Plan.Raw.Equal(req.State.Raw) {
		r.Data.RefuseOperators(path.Root("tolerations"), claim.Tolerations, &resp.Diagnostics)
		r.check(ctx, claim, own, &resp.Diagnostics)
	}
}

// check has the API server try the policy, and reports what else there is to know.
func (r *tolerationPolicy) check(ctx context.Context, claim admission.Claim, own ownership, diags *diag.Diagnostics) {
	if _, err := r.Data.Identify(ctx, own.Cluster, diags); err != nil || diags.HasError() {
		if err != nil {
			r.Data.Unreadable("toleration policy \""+claim.Name+"\"", err, diags)
		}
		return
	}
	r.Data.CheckNamespaces(ctx, claim.Policy, matchAt, path.Root("tolerations"), diags)
	if diags.HasError() {
		return
	}
	seen, err := r.Data.Cluster.Policy(ctx, claim.Name)
	if err == nil {
		err = r.try(ctx, seen, claim, own, diags)
	}
	switch {
	case err == nil:
	case kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
	default:
		diags.Append(explain("plan", claim.Name, err))
	}
}

// try makes the policy as a dry run.
func (r *tolerationPolicy) try(ctx context.Context, seen *admission.Observed, claim admission.Claim, own ownership, diags *diag.Diagnostics) error {
	if err := r.Data.TryPolicy(ctx, seen, claim); err != nil {
		return err
	}
	if seen != nil && own.Generation == "" {
		diags.AddWarning("Creating adopts toleration policy \""+claim.Name+"\"",
			"A policy with the id \""+claim.Owner+"\" exists already. An earlier create was interrupted, or this object replaces another one. It is adopted and changed in place. "+
				"If another configuration uses the same id, give one of them another owner in the provider block, or the policies different names: the two would take the policy from each other.")
	}
	return nil
}

// retires reports whether a policy gives tolerations that nothing needs any more.
func retires(seen *admission.Observed, plan admission.Plan) bool {
	return plan.Policy != nil && len(plan.Policy.Retiring) < len(seen.Retiring)
}
