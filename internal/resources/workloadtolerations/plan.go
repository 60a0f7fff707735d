// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// register lets the other resources of the run remove what this one has left behind.
func (r *workloadTolerations) register(c change) {
	if c.Verb != "create" {
		r.Data.Keys.Register(c.Model.ID.ValueString(), c.Own.ListSeal())
	}
}

// Claim tells the others what running pods carry. The workloads are known from the refresh; where they are not,
// nothing is said.
func (r *workloadTolerations) Claim(ctx context.Context, c change, known bool, diags *diag.Diagnostics) {
	r.register(c)
	if !known || diags.HasError() {
		return
	}
	var ignored diag.Diagnostics
	observed, err := r.observe(ctx, c.Want, c.Own.Cluster, &ignored)
	if err == nil && !ignored.HasError() {
		r.claim(c.Want, observed, c.Own, diags)
		r.note(c.Want, observed, nil)
	}
}

// Preview tells the other resources of the run what is planned, and reports what it costs.
func (r *workloadTolerations) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	r.register(c)
	desired, own := c.Want, c.Own
	if c.Verb != "delete" {
		r.Data.RefuseOperators(path.Root("tolerations"), desired.claim.Tolerations, diags)
	}
	if diags.HasError() {
		return
	}
	if c.Former != nil {
		before, _ := tfschema.Tolerations(ctx, c.Former.Tolerations, diags)
		desired.former = toleration.IDs(before)
	}
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
	plan, snapshot, err := r.ordered(ctx, observed.change(desired))
	if err != nil {
		r.note(desired, observed, nil)
		r.noPreview(desired, err, diags)
		return
	}
	rollout.Worded(ctx, plan)
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
		if own.Generation == "" {
			message.WarnAdopted("tolerations", "\""+desired.claim.Owner+"\"", message.TakenOver(plan, desired.claim.Owner), diags)
		}
		warnLeft(desired, observed, own, diags)
	}
}

// ordered returns the plan of a change and the cluster that it is made of, with what new pods of its workloads need.
func (r *workloadTolerations) ordered(ctx context.Context, change planner.Change) (planner.Plan, *snapshot.Snapshot, error) {
	s, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		return planner.Plan{}, nil, err
	}
	return rollout.Ordered(ctx, r.Data.Cluster, s, r.Data.OrderOf(change))
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
	displaced := planner.PodsLosingTolerations(snapshot, plan.Steps, r.Data.Comparison)
	steps := plan.Steps
	if desired.now {
		// The warning of pods that lose their places says more than how many of them find no node.
		steps = slices.DeleteFunc(slices.Clone(steps), displaced.By)
	}
	rolled, missing := planner.Restarts(snapshot, steps, r.Data.Comparison)
	message.WarnStuck(subject+desired.target.title(), rolled, missing, at.Workload, diags)
	for _, step := range plan.Steps {
		session.WarnPreempts(ctx, r.Data.Cluster, step, diags)
	}
	r.Data.WarnRestartedOnto(subject+desired.target.title(), desired.claim.Owner, snapshot, plan.Steps, diags)
	if desired.now {
		message.WarnDisplaced(subject+desired.target.title(), displaced, message.GivenUp{
			At: path.Root("retire"), Why: `retire = "now" removes tolerations that running pods need`,
			Instead: "If these pods are to stay, leave out retire: the tolerations are then removed after the taints. Taints that another resource of this apply removes first are counted here all the same.",
		}, diags)
	}
	message.WarnShortened(subject+desired.target.title(), displaced.Pods, path.Root("tolerations"), diags)
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
