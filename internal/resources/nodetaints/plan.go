// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ModifyPlan completes the plan and reports what it would do to pods.
//
// It is silent where nothing changes, where something that it depends on is not
// known yet, and where no pod is affected. It runs again at apply, with the
// pods of that moment: nothing that it learns from the cluster may go into the
// plan itself.
func (r *nodeTaints) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	own := managed.LoadOwnership[taint.ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	var state, plan model
	if !req.State.Raw.IsNull() {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.Data.NoteDestroy(ctx, req.Plan, "node_taints", state.freshID, &resp.Diagnostics)
		var err error
		if own, err = r.ownership(ctx, req.Private, state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable("the nodes of \""+state.ID.ValueString()+"\"", err, &resp.Diagnostics)
			return
		}
		own.RefuseImportedTwice(r.Data, state.ID.ValueString(), req.Plan.Raw.IsNull(), &resp.Diagnostics)
	}
	if req.Plan.Raw.IsNull() {
		r.planDestroy(ctx, state, own, resp)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	creating := req.State.Raw.IsNull()
	if resp.Diagnostics.HasError() {
		return
	}
	if !creating {
		plan.keepWording(ctx, state)
		plan.identifyMoved(ctx, r.Data.Owner, state, own, &resp.Diagnostics)
	}
	if !creating && req.Plan.Raw.Equal(req.State.Raw) && len(state.Nodes.Elements()) == 0 {
		r.claimUnchanged(ctx, state, own, &resp.Diagnostics)
		return
	}
	// In sync after an apply: this is known without looking at the cluster.
	plan.Nodes = noNodes()
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if creating && known {
		id := newID(r.Data.Owner, desired)
		plan.ID, desired.Claim.Owner, desired.Claim.TakeOver = types.StringValue(id), id, true
		r.Data.NoteCreate("node_taints", id, &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if !known || resp.Diagnostics.HasError() {
		return
	}
	desired.Known = r.Data.Join(ctx, resp.Private, &resp.Diagnostics, state.ToleratedBy, plan.ToleratedBy)
	session.NoteReplaced(ctx, creating, own.Generation, resp.Private, &resp.Diagnostics)
	of := difference{links: session.NewLinks(state.ToleratedBy, plan.ToleratedBy)}
	if !creating {
		of.replaces = !plan.NodeName.Equal(state.NodeName)
		r.warnLeft(state, desired, own, &resp.Diagnostics)
		before, _ := state.desired(ctx, own, &resp.Diagnostics)
		desired.Former = before.Claim.IDs()
		of.former = []planner.Target{before.Target}
	}
	r.preview(ctx, plan, desired, own, of, resp.Private, &resp.Diagnostics)
}

// planDestroy previews a destroy, which can evict where it puts back a taint.
func (r *nodeTaints) planDestroy(ctx context.Context, state model, own ownership, resp *resource.ModifyPlanResponse) {
	diags := &resp.Diagnostics
	desired, known := state.desired(ctx, own, diags)
	if !known {
		return
	}
	desired.Claim.Release = true
	desired.Known = r.Data.Join(ctx, resp.Private, diags, state.ToleratedBy)
	session.ForgetReplaced(ctx, resp.Private, diags)
	if own.Moved {
		desired.Claim.Imported = nil
		diags.AddWarning("Destroying the moved state of "+message.Place(desired.Target)+" leaves its taints where they are",
			"The moved state lists every taint of the node, not only yours. To have yours removed, apply the configuration once before you destroy it.")
	}
	r.preview(ctx, state, desired, own, difference{}, resp.Private, diags)
}

// difference is what a plan has beside what is desired: that it replaces, links that are new, and the nodes of before.
type difference struct {
	replaces bool
	links    []string
	former   []planner.Target
}

// preview reports what the change would do, as diagnostics.
func (r *nodeTaints) preview(ctx context.Context, m model, desired planner.NodeTaints, own ownership, of difference, private session.PrivateWriter, diags *diag.Diagnostics) {
	budget, budgetKnown := tfschema.BudgetOf(ctx, m.Evictions, r.Data.Evictions, diags)
	strict := budgetKnown && budget.Set()
	words := words(desired, budget)
	words.Replaces = of.replaces
	_, nodes, err := r.observe(ctx, own.Cluster, diags)
	if diags.HasError() {
		return
	}
	if err != nil {
		session.NoPreview("evictions on "+message.Place(desired.Target), "evicts", err, strict, r.Data, diags)
		return
	}
	if desired, _, err = r.Data.WithMachines(ctx, nodes, desired, planner.NodeLabels{}); err != nil {
		diags.Append(message.UnableTo("read the Machines of "+message.Place(desired.Target), err))
		return
	}
	session.NoteMachines(ctx, desired, private, diags)
	plan := planner.PlanNodes(nodes, desired)
	if desired.Target.Selector != nil && !desired.Claim.Release {
		message.WarnUnreadable(desired.Unreadable(nodes, of.former...), taint.OwnedAnnotation, diags)
	}
	if len(plan.Refusals) > 0 {
		diags.Append(message.ExplainRefusals(desired, plan.Refusals))
		return
	}
	if !desired.Claim.Release {
		r.Data.ClaimTaints(session.Holder(own.Generation), desired, nodes, diags)
		warnTarget(desired, plan, diags)
		warnTakeOver(desired, plan, own, diags)
		r.Data.WarnLinks(ctx, session.Linking{IDs: of.links, Known: desired.Known, Place: message.Place(desired.Target), Taints: desired.Claim.Taints}, diags)
	}
	message.WarnUnnamed(planner.Unnamed(plan, planner.LabelPlan{}, desired.Named(), nil), "node", diags)
	if diags.HasError() {
		return
	}
	message.WarnGivenUp(plan.GivenUp(desired), diags)
	message.WarnUnchecked(planner.Unchecked(plan, planner.LabelPlan{}, desired), diags)
	message.WarnControlPlane(plan, diags)
	change := planner.Change{Nodes: []planner.NodeTaints{desired}}
	r.Data.PreviewTaints(ctx, session.TaintChange{
		Change: change, Owner: desired.Claim.Owner, Place: message.Place(desired.Target), Taken: message.AboutTaken(desired.Target, plan), Taints: planner.TaintChanges{Nodes: change.Nodes},
		Changed: plan.Names(), Harmless: plan.Harmless(), ToleratedBy: m.ToleratedBy, Strict: strict, Words: words,
	}, diags)
}

// claimUnchanged claims what a resource has that is not about to change. The
// nodes are known from the refresh; where they are not, nothing is said.
func (r *nodeTaints) claimUnchanged(ctx context.Context, state model, own ownership, diags *diag.Diagnostics) {
	desired, known := state.desired(ctx, own, diags)
	if _, nodes, err := r.observe(ctx, own.Cluster, diags); known && err == nil && !diags.HasError() {
		message.WarnUnreadable(desired.Unreadable(nodes), taint.OwnedAnnotation, diags)
		r.Data.ClaimTaints(session.Holder(own.Generation), desired, nodes, diags)
	}
}

// warnTarget reports that there is nothing there yet to change.
func warnTarget(desired planner.NodeTaints, plan planner.NodePlan, diags *diag.Diagnostics) {
	if plan.Matched > 0 {
		return
	}
	// Removing a taint evicts no pod, so that a preview misses none.
	summary, later, then := "nothing is tainted", "are tainted", "taints it then. Pods that run on it by then are not in this preview"
	switch {
	case len(desired.Claim.Taints) == 0:
		summary, later, then = "no taint is removed", "lose these taints", "removes these taints then"
	case len(desired.Claim.Absent) > 0:
		summary, later, then = "no taint is added or removed", "get and lose these taints", "changes its taints then. Pods that run on it by then are not in this preview"
	}
	if desired.Target.Selector == nil {
		diags.AddAttributeWarning(path.Root("node_name"), "Node \""+desired.Target.Name+"\" does not exist yet",
			"Apply waits for it as long as timeouts.create allows and "+then+". If the name is misspelled, correct it now (kubectl get nodes).")
		return
	}
	diags.AddAttributeWarning(path.Root("node_selector"), "No node matches \""+desired.Target.Selector.String()+"\": "+summary,
		"Nodes that match later "+later+" at the first apply after that. If that is not intended, check the labels (kubectl get nodes --show-labels).")
}

// warnTakeOver reports that a create goes on with the marks of an earlier one.
func warnTakeOver(desired planner.NodeTaints, plan planner.NodePlan, own ownership, diags *diag.Diagnostics) {
	if len(plan.TakenOver) == 0 || own.Generation != "" {
		return
	}
	diags.AddWarning(fmt.Sprintf("Creating adopts taints of %q on %s", desired.Claim.Owner, message.Place(desired.Target)),
		"Entries with this resource's id are on these nodes already: "+message.Some(plan.TakenOver)+". An earlier create was interrupted, or this object replaces another one. They are adopted as they are, which evicts no pod. "+
			"If another configuration uses the same id, give one of them another owner in the provider block. Otherwise each overwrites the other's taints.")
}

// warnLeft reports that entries which were imported or moved leave the state and
// stay on the nodes.
func (r *nodeTaints) warnLeft(state model, desired planner.NodeTaints, own ownership, diags *diag.Diagnostics) {
	kept := own.Keep(taint.IDs(desired.Claim.Taints)).Imported
	var left []string
	for id, generation := range own.Imported {
		if _, ok := kept[id]; !ok && slices.Contains(generation, "") {
			left = append(left, id.String())
		}
	}
	if len(left) > 0 {
		diags.AddWarning(fmt.Sprintf("%s of %q %s the state but %s on %s", message.Count(len(left), "imported taint"), state.ID.ValueString(), message.Agree(len(left), "leaves", "leave"), message.Agree(len(left), "stays", "stay"), message.Place(desired.Target)),
			"Taints that were imported or moved, are not owned and are not in the configuration are treated as not managed here: "+strings.Join(slices.Sorted(slices.Values(left)), ", ")+". They are not removed. Remove unwanted taints by hand, or add them to the configuration.")
	}
}

// warnOrphans reports that marks with the destroyed resource's id stay behind. A
// replacement that this process made is no such case.
func (r *nodeTaints) warnOrphans(ctx context.Context, desired planner.NodeTaints, diags *diag.Diagnostics) {
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if _, replaced := r.Data.Created.Load(desired.Claim.Owner); err != nil || replaced {
		return
	}
	var left []string
	for _, n := range nodes {
		if slices.ContainsFunc(n.Record, func(m taint.Mark) bool { return m.Owner == desired.Claim.Owner }) {
			left = append(left, n.Name)
		}
	}
	if len(left) > 0 {
		slices.Sort(left)
		diags.AddWarning(fmt.Sprintf("Taints owned by %q were left on %s: %s", desired.Claim.Owner, message.Count(len(left), "node"), message.Some(left)),
			"They were written by another instance of this resource. If the resource was recreated under the same id, this is fine. If a replacement was abandoned, nothing manages them: import them into a resource, and destroy it.")
	}
}
