// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ModifyPlan completes the plan, tells the other resources of the run what is
// planned, and reports what it costs.
//
// It runs again at apply: nothing that it learns from the cluster may go into
// the plan itself.
func (r *workloadTolerations) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	own := managed.LoadOwnership[toleration.ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	var state, plan model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.Data.NoteDestroy(ctx, req.Plan, "workload_tolerations", state.freshID, &resp.Diagnostics)
		var err error
		if own, err = r.ownership(ctx, req.Private, state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable("the tolerations of \""+state.ID.ValueString()+"\"", err, &resp.Diagnostics)
			return
		}
		own.RefuseImportedTwice(r.Data, state.ID.ValueString(), req.Plan.Raw.IsNull(), &resp.Diagnostics)
	}
	if req.Plan.Raw.IsNull() {
		if desired, known := state.desired(ctx, own, &resp.Diagnostics); known {
			desired.claim, desired.noWait = released(desired.claim), true
			r.preview(ctx, desired, own, &resp.Diagnostics)
		}
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	creating := req.State.Raw.IsNull()
	if !creating {
		plan.keepWording(ctx, state)
	}
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if creating && known {
		id := newID(r.Data.Owner, desired.target, desired.claim.Tolerations)
		plan.ID, desired.claim.Owner, desired.claim.TakeOver = types.StringValue(id), id, true
		r.Data.NoteCreate("workload_tolerations", id, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	if !creating && resp.Plan.Raw.Equal(req.State.Raw) {
		r.unchanged(ctx, desired, own, &resp.Diagnostics)
		return
	}
	r.Data.RefuseOperators(path.Root("tolerations"), desired.claim.Tolerations, &resp.Diagnostics)
	if !resp.Diagnostics.HasError() {
		// None of a create.
		before, _ := tfschema.Tolerations(ctx, state.Tolerations, &resp.Diagnostics)
		desired.former = toleration.IDs(before)
		r.preview(ctx, desired, own, &resp.Diagnostics)
	}
}

// unchanged tells the others what running pods carry. The workloads are known from
// the refresh; where they are not, nothing is said.
func (r *workloadTolerations) unchanged(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	var ignored diag.Diagnostics
	observed, err := r.observe(ctx, desired, own.Cluster, &ignored)
	if err == nil && !ignored.HasError() {
		r.claim(desired, observed, own, diags)
		r.note(desired, observed, nil)
	}
}

// preview reports what the change would do, as diagnostics.
func (r *workloadTolerations) preview(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	observed, err := r.observe(ctx, desired, own.Cluster, diags)
	if diags.HasError() {
		return
	}
	if err != nil {
		r.noPreview(desired, err, diags)
		return
	}
	for _, w := range observed.workloads {
		if w.RecordErr != nil {
			diags.Append(explain("read", desired, &rollout.WorkloadError{Ref: w.Ref, Err: w.RecordErr}))
			return
		}
	}
	if !desired.claim.Release {
		r.claim(desired, observed, own, diags)
		warnTarget(desired, observed, diags)
	} else {
		warnAbandoned(desired, observed, diags)
	}
	snapshot, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		r.note(desired, observed, nil)
		r.noPreview(desired, err, diags)
		return
	}
	plan := planner.Order(snapshot, observed.change(desired), r.Data.Comparison)
	r.note(desired, observed, &plan)
	if len(plan.Conflicts) > 0 {
		diags.Append(explain("change", desired, &rollout.ConflictError{Conflicts: plan.Conflicts}))
		return
	}
	r.consequences(ctx, desired, observed, snapshot, plan, diags)
	message.WarnUnnamed(planner.UnnamedInWorkloads(plan.Steps, func(ref workload.Ref) ([]toleration.ID, []string) {
		if !slices.ContainsFunc(observed.workloads, func(w *workload.Workload) bool { return w.Ref == ref }) {
			return nil, nil
		}
		return slices.Concat(toleration.IDs(desired.claim.Tolerations), desired.former), nil
	}), "workload", diags)
	if !desired.claim.Release && !diags.HasError() {
		warnTakeOver(desired, plan, own, diags)
		warnLeft(desired, observed, own, diags)
	}
}

// consequences refuses what would not come about, and reports what the rest costs.
func (r *workloadTolerations) consequences(ctx context.Context, desired wanted, observed observation, snapshot *snapshot.Snapshot, plan planner.Plan, diags *diag.Diagnostics) {
	change := observed.change(desired)
	for _, t := range change.Workloads[:len(observed.workloads)] {
		if !message.RefuseHeld(t, snapshot, plan, at, diags) {
			return
		}
		message.WarnBlocked(t.Workload, snapshot, plan, at, diags)
	}
	for _, step := range plan.Steps {
		if !r.Data.TryWorkload(ctx, step, at, diags) {
			return
		}
	}
	subject := "Changing the tolerations of "
	if desired.claim.Release {
		subject = "Removing the tolerations of "
	}
	message.WarnCost(subject+desired.target.title(), plan, diags)
	displaced := planner.Displaces(snapshot, plan.Steps, r.Data.Comparison)
	if desired.now {
		message.WarnDisplaced(subject+desired.target.title(), displaced, message.GivenUp{
			At: path.Root("retire"), Why: `retire = "now" removes tolerations that running pods need`,
			Instead: "If these pods are to stay, leave out retire: the tolerations are then removed after the taints. Taints that another resource of this apply removes first are counted here all the same.",
		}, diags)
	}
	message.WarnShortened(subject+desired.target.title(), displaced, path.Root("tolerations"), diags)
	for _, t := range change.Workloads[:len(observed.workloads)] {
		if slices.ContainsFunc(plan.Steps, func(s planner.Step) bool { return s.Workload.Ref == t.Workload.Ref && s.Merged.Template }) {
			r.Data.WarnWriters(ctx, t, at, diags)
		}
	}
}

// warnTarget reports what else is in the way of the tolerations.
func warnTarget(desired wanted, observed observation, diags *diag.Diagnostics) {
	if len(observed.workloads) == 0 {
		diags.AddAttributeWarning(path.Root("workload").AtName("selector"), "No workload is found: "+desired.target.title(),
			"Nothing is changed. Workloads that match later get the tolerations at the first apply after that. If that is not intended, check the labels ("+desired.target.show()+").")
	}
	for _, w := range observed.workloads {
		message.WarnTemplate(w, desired.claim.Tolerations, !desired.noWait, false, at, diags)
	}
}

// noPreview reports that what the change does is not known. A workload that does
// not exist is an error: there is nothing to change.
func (r *workloadTolerations) noPreview(desired wanted, err error, diags *diag.Diagnostics) {
	switch {
	case kube.Gone(err) && desired.claim.Release:
	case kube.OutOfReach(err):
		r.Data.Unreachable(err, diags)
	case errors.Is(err, kube.ErrForbidden):
		diags.AddWarning("Unable to preview the change of "+desired.target.title(),
			"The change is planned, but which pods restart is not known: the credentials have no permission to read what the preview needs. The guide \"Permissions\" of the provider's documentation lists it.\n\nOriginal error: "+err.Error())
	default:
		diags.Append(explain("find", desired, err))
	}
}

// claim notes what this resource wants, so that a second one in the same run
// that wants the same is told at plan rather than at apply.
func (r *workloadTolerations) claim(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	holder := session.Holder(own.Generation)
	for _, w := range observed.workloads {
		if !r.Data.ClaimTolerations(holder, w.Ref, desired.target.claimPath, desired.claim.Tolerations, at.Tolerations, diags) {
			return
		}
	}
}
