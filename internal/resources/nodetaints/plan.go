// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Preview reports what the change would do to pods, as diagnostics. A destroy can evict where it puts back a
// taint.
func (r *nodeTaints) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	desired, own := r.wanted(ctx, c, diags), c.Own
	var former []planner.Target
	switch {
	case c.Former != nil:
		r.warnLeft(*c.Former, desired, own, diags)
		before, _ := c.Former.target(diags)
		former = []planner.Target{before}
	case c.Verb == "delete" && own.Moved:
		diags.AddWarning("Destroying the moved state of "+message.Place(desired.Target)+" leaves its taints where they are",
			"The moved state lists every taint of the node, not only yours. To have yours removed, apply the configuration once before you destroy it.")
	}
	limits, limitsKnown := tfschema.LimitsOf(ctx, c.Model.Evictions, r.Data.Evictions, diags)
	strict := limitsKnown && limits.Set()
	words := words(desired, limits)
	words.Replaces = c.Former != nil && !c.Model.NodeName.Equal(c.Former.NodeName)
	nodes, _, err := r.Inspect(ctx, c.Model, own, diags)
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
	session.NoteMachines(ctx, desired, c.Private, diags)
	plan := planner.PlanNodes(nodes, desired)
	if desired.Target.Selector != nil && !desired.Claim.Release {
		message.WarnUnreadable(desired.Unreadable(nodes, former...), taint.OwnedAnnotation, diags)
	}
	if len(plan.Refusals) > 0 {
		diags.Append(message.ExplainRefusals(desired, plan.Refusals))
		return
	}
	if !desired.Claim.Release {
		r.Data.ClaimTaints(session.Holder(own.Generation), desired, nodes, diags)
		warnTarget(desired, plan, diags)
		if own.Generation == "" {
			message.WarnAdopted("taints", fmt.Sprintf("%q on %s", desired.Claim.Owner, message.Place(desired.Target)), plan.TakenOver, diags)
		}
		r.Data.WarnLinks(ctx, session.Linking{IDs: session.NewLinks(c.Links()), Known: desired.Known, Place: message.Place(desired.Target), Taints: desired.Claim.Taints}, diags)
	}
	message.WarnUnnamed(planner.Unnamed(plan, planner.LabelPlan{}, desired.Named(), nil), "node", diags)
	if diags.HasError() {
		return
	}
	message.WarnGivenUp(plan.GivenUp(desired), diags)
	message.WarnUnchecked(planner.Unchecked(plan, planner.LabelPlan{}, desired), diags)
	message.WarnControlPlane(plan, r.Data.Effects.Before(desired.Claim.Owner, false), diags)
	change := planner.Change{Nodes: []planner.NodeTaints{desired}}
	r.Data.PreviewTaints(ctx, session.TaintChange{
		Change: change, Owner: desired.Claim.Owner, Place: message.Place(desired.Target), Taken: message.AboutTaken(desired.Target, plan), Taints: planner.TaintChanges{Nodes: change.Nodes},
		Changed: plan.Names(), EvictsNothing: plan.EvictsNothing(), ToleratedBy: c.Model.ToleratedBy, Strict: strict, Words: words,
	}, diags)
}

// Claim claims what a resource has that is not about to change. The nodes are known from the refresh; where they
// are not, nothing is said.
func (r *nodeTaints) Claim(ctx context.Context, c change, known bool, diags *diag.Diagnostics) {
	if !known || diags.HasError() {
		return
	}
	if nodes, _, err := r.Inspect(ctx, c.Model, c.Own, diags); err == nil && !diags.HasError() {
		message.WarnUnreadable(c.Want.Unreadable(nodes), taint.OwnedAnnotation, diags)
		r.Data.ClaimTaints(session.Holder(c.Own.Generation), c.Want, nodes, diags)
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
	message.WarnLeftThere("taint", state.ID.ValueString(), message.Place(desired.Target), left, diags)
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
