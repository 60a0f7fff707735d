// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// register lets the other resources of the run remove what this one has left behind.
func (r *dedicatedNodes) register(c change) {
	if c.Verb != "create" {
		r.Data.Keys.Register(c.Model.ID.ValueString(), c.Own.ListSeal())
	}
}

// Claim claims what a resource has that is not about to change, and tells the
// others what running pods carry. Nodes and workloads are known from the refresh;
// where they are not, nothing is said.
func (r *dedicatedNodes) Claim(ctx context.Context, c change, known bool, diags *diag.Diagnostics) {
	r.register(c)
	if !known || diags.HasError() {
		return
	}
	var ignored diag.Diagnostics
	observed, err := r.observe(ctx, c.Want, c.Own.Cluster, &ignored)
	if err == nil && !ignored.HasError() {
		warnUnreadable(c.Want, observed.nodes, diags)
		warnUnreadableNodes(observed.changes(c.Want), diags)
		for _, c := range observed.changes(c.Want).Sets {
			if said := message.ExplainRecord(rollout.CheckSetChange(c), c.Set.Title(), "", path.Empty()); said != nil {
				diags.Append(message.AsWarning(said))
			}
		}
		r.claim(c.Want, observed, c.Own, diags)
		r.claimSets(c.Want, observed, c.Own, diags)
		r.note(c.Want, observed, nil)
	}
}

// Preview reports what the change would do, as diagnostics. The members of before
// that are not meant any more are given up.
func (r *dedicatedNodes) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	r.register(c)
	desired, own, before := c.Want.remembering(c.Memory), c.Own, []member(nil)
	if c.Former != nil {
		old, _ := c.Former.Desired(ctx, own, diags)
		desired.replaces = areOthers(ctx, c.Former.MachineSets, c.Model.MachineSets, diags)
		desired, before = desired.retire(old).without(old), old.members
	}
	limits, limitsKnown := tfschema.LimitsOf(ctx, c.Model.Evictions, r.Data.Evictions, diags)
	strict := limitsKnown && limits.Set()
	// Another cluster is not even looked through for marks.
	_, err := r.Data.Identify(ctx, own.Cluster, diags)
	if diags.HasError() {
		return
	}
	if own.Generation != "" && err == nil {
		desired = r.withLeavers(ctx, desired, wanted{members: before}, &diag.Diagnostics{})
	}
	observed, err := r.observe(ctx, desired, own.Cluster, diags)
	if diags.HasError() {
		return
	}
	if err != nil {
		session.NoPreview("what happens on "+desired.place(), "evicts and restarts", err, strict, r.Data, diags)
		return
	}
	if desired.nodes, desired.labels, err = r.Data.WithMachines(ctx, observed.nodes, desired.nodes, desired.labels); err != nil {
		diags.Append(message.UnableTo("read the Machines of "+desired.place(), err))
		return
	}
	session.NoteMachines(ctx, desired.nodes, c.Private, diags)
	if !r.possible(desired, observed, own, diags) {
		return
	}
	snapshot, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		r.note(desired, observed, nil)
		session.NoPreview("what happens on "+desired.place(), "evicts and restarts", err, strict, r.Data, diags)
		return
	}
	change := observed.change(desired)
	change.MachineSets.AtOnce = int(r.Data.MaxConcurrentRollouts)
	change.Planned = r.Data.Planned.Tolerations(desired.owner(), nil)
	taken := r.retained(ctx, desired, observed, &change, diags)
	whole, snapshot, err := r.Data.Ordered(ctx, desired.owner(), limits.Limits, snapshot, r.Data.OrderOf(change))
	if err != nil {
		r.note(desired, observed, nil)
		session.NoPreview("what happens on "+desired.place(), "evicts and restarts", err, strict, r.Data, diags)
		return
	}
	plan, _ := whole.Own()
	r.note(desired, observed, &plan)
	if err := belongs(plan); err != nil {
		diags.Append(explain("change", desired, err))
		return
	}
	warnAdopted(desired, observed, plan, own, diags)
	r.warnNotTaken(ctx, desired, own, diags)
	if !r.workable(ctx, desired, observed, snapshot, plan, diags) {
		return
	}
	words := desired.words(limits, r.Data.MaxConcurrentRollouts)
	words.Exceeded = r.Data.Exceeded(desired.owner(), snapshot, whole, r.Data.OrderOf(change))
	r.Data.Warn(ctx, words, plan, diags)
	if diags.HasError() {
		return
	}
	displaced := planner.PodsLosingTolerations(snapshot, plan.Steps, r.Data.Comparison)
	r.warnWorkloads(ctx, desired, observed, snapshot, plan, displaced, diags)
	message.WarnUnnamed(planner.UnnamedInWorkloads(plan.Steps, namedBy(slices.Concat(desired.members, before))), "workload", diags)
	desired.warnFound(plan, diags)
	warnLeft(observed, displaced, diags)
	message.WarnShortened("Dedicating "+desired.place()+" to its workloads", displaced.Pods, path.Root("workloads"), diags)
	r.Data.WarnRestarts(taken, snapshot, change, whole, desired.owner(), diags)
}

// namedBy returns what members name for a workload. Members that were found by their marks alone name
// nothing.
func namedBy(members []member) func(workload.Ref) ([]toleration.ID, []string) {
	return func(ref workload.Ref) (tolerations []toleration.ID, pins []string) {
		for _, m := range members {
			if m.Ref == ref && !m.left {
				tolerations, pins = append(tolerations, toleration.IDs(m.claim.Tolerations)...), slices.AppendSeq(pins, maps.Keys(m.pin.Labels))
			}
		}
		return tolerations, pins
	}
}

// retained adds to a change what others have left behind for the sake of the taints that it
// takes away, and words what these are.
func (r *dedicatedNodes) retained(ctx context.Context, desired wanted, observed observation, change *planner.Change, diags *diag.Diagnostics) message.Subject {
	nodes := desired.nodes
	nodes.Former = desired.retired
	about, changes := message.AboutTaken(nodes.Target, planner.PlanNodes(slices.Clone(observed.nodes), nodes)), planner.TaintChanges{Nodes: []planner.NodeTaints{nodes}}
	if affected := change.MachineSets.Affected(); len(affected) > 0 {
		taken, after := message.AboutTakenFromSets(affected, desired.place())
		about, changes = taken, planner.TaintChanges{Machines: []map[string][]corev1.Taint{after}, Named: desired.named(), Known: desired.nodes.Known}
	}
	more, elsewhere := r.Data.Retained(ctx, about, changes, diags)
	for _, t := range more {
		// Of its own workloads it says itself what they cost.
		if !slices.ContainsFunc(observed.members, func(s seen) bool { return s.Ref == t.Workload.Ref }) {
			change.Workloads = append(change.Workloads, t)
		}
	}
	change.Elsewhere = elsewhere
	return about
}

// belongs is the error where something that is wanted has another owner.
func belongs(plan planner.Plan) error {
	if len(plan.Conflicts) > 0 {
		return &rollout.ConflictError{Conflicts: plan.Conflicts}
	}
	return plan.PolicyErr
}

// possible refuses what must not be written to nodes, and workloads that there
// are not, and reports what there is nothing to do about.
func (r *dedicatedNodes) possible(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) bool {
	for _, a := range observed.absent {
		if !a.claim.Release {
			diags.Append(message.ExplainWorkload("change", a.Title(), a.at, a.err))
		}
	}
	for _, s := range observed.members {
		for _, err := range []error{s.workload.RecordErr, s.workload.LabelRecordErr} {
			if said := message.ExplainRecord(err, s.Title(), s.workload.APIVersion, s.at.Workload); said != nil {
				diags.Append(said)
			}
		}
	}
	if !desired.releases() {
		skipped := observed.nodes
		if desired.nodes.Target.Selector == nil {
			// Nodes that are named are refused.
			skipped = slices.DeleteFunc(slices.Clone(skipped), desired.nodes.Target.Matches)
		}
		warnUnreadable(desired, skipped, diags)
	}
	nodes := planner.PlanNodes(slices.Clone(observed.nodes), desired.nodes)
	labels := planner.PlanLabels(observed.nodes, desired.labels)
	if refusals := slices.Concat(labels.Refusals, nodes.Refusals, planner.TooLarge(nodes, labels)); len(refusals) > 0 {
		diags.Append(message.ExplainRefusals(desired.nodes, refusals))
	}
	message.WarnPutBack(planner.PutBack(labels, desired.nodes.Machines), diags)
	message.WarnGivenUp(nodes.GivenUp(desired.nodes), diags)
	message.WarnUnchecked(planner.Unchecked(nodes, labels, desired.nodes), diags)
	if desired.nodes.Target.MachineSets == nil {
		message.WarnUnnamed(planner.Unnamed(nodes, labels, desired.named(), desired.shed), "node", diags)
	}
	r.possibleSets(desired, observed, own, diags)
	if diags.HasError() || desired.releases() {
		return !diags.HasError()
	}
	r.claim(desired, observed, own, diags)
	if desired.nodes.Target.MachineSets == nil {
		warnTarget(desired, observed, nodes, diags)
		message.WarnControlPlane(nodes, r.Data.Effects.Before(desired.nodes.Claim.Owner, false), diags)
	}
	return !diags.HasError()
}

// warnUnreadable warns of nodes that are skipped because their record is damaged.
func warnUnreadable(desired wanted, nodes []*snapshot.Node, diags *diag.Diagnostics) {
	message.WarnUnreadable(desired.nodes.Unreadable(nodes, desired.former...), taint.OwnedAnnotation, diags)
	message.WarnUnreadable(desired.labels.Unreadable(nodes, desired.former...), label.OwnedAnnotation, diags)
}

// workable refuses what pods would not follow, or the API server not take.
func (r *dedicatedNodes) workable(ctx context.Context, desired wanted, observed observation, snapshot *snapshot.Snapshot, plan planner.Plan, diags *diag.Diagnostics) bool {
	for _, s := range observed.members {
		if !message.RefuseHeld(s.planned(s.workload), snapshot, plan, s.at, diags) {
			return false
		}
		message.WarnBlocked(s.workload, snapshot, plan, s.at, diags)
	}
	for _, step := range plan.Steps {
		for _, s := range observed.members {
			if step.Workload == s.workload && !r.Data.TryWorkload(ctx, step, s.at, diags) {
				return false
			}
		}
	}
	return r.pinnable(desired, observed, snapshot, plan, diags) && r.tryPolicies(ctx, desired, observed, plan, diags)
}

// claim notes what this resource wants, so that a second one in the same run
// that wants the same is told at plan rather than at apply.
func (r *dedicatedNodes) claim(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	holder := session.Holder(own.Generation)
	r.Data.ClaimTaints(holder, desired.nodes, observed.nodes, diags)
	r.Data.ClaimLabels(holder, desired.labels, observed.nodes, diags)
	for _, p := range desired.policies {
		if !p.Release {
			r.Data.ClaimPolicy(holder, p.Name, policyAt, diags)
		}
	}
	for _, s := range observed.members {
		if s.claim.Release {
			continue
		}
		if !r.Data.ClaimTolerations(holder, s.Ref, s.ClaimPath, s.claim.Tolerations, s.at.Tolerations, diags) ||
			!r.Data.ClaimPins(holder, s.Ref, s.pin.Labels, s.at.Pin, diags) {
			return
		}
	}
}

// note tells the other resources of this run what running pods carry, or will carry
// by a plan.
func (r *dedicatedNodes) note(desired wanted, observed observation, plan *planner.Plan) {
	var out []planner.PlannedTolerations
	for _, s := range observed.members {
		w := s.workload
		p := planner.PlannedTolerations{Ref: w.Ref, Path: w.Path, Pods: w.Pods, Waits: true, Hold: w.Rolling.Hold, Below: w.Rolling.Below, WayOut: w.Rolling.WayOut, Later: w.Rolling.Later, Before: w.Tolerations, After: plan.After(w), Labels: plan.Labels(w), Workload: w}
		if !s.claim.Release {
			p.Wanted = s.claim.Tolerations
		}
		out = append(out, p)
	}
	r.Data.Planned.Note(desired.owner(), out)
}

// noteApplied tells the others what running pods carry now.
func (r *dedicatedNodes) noteApplied(ctx context.Context, desired wanted) {
	var ignored diag.Diagnostics
	if observed, err := r.observe(ctx, desired, "", &ignored); err == nil && !ignored.HasError() {
		r.note(desired, observed, nil)
	}
}
