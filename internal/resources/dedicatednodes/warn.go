// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// warnTarget reports that there is nothing there yet to dedicate.
func warnTarget(desired wanted, observed observation, nodes planner.NodePlan, diags *diag.Diagnostics) {
	target := desired.nodes.Target
	if target.Selector != nil {
		if nodes.Matched == 0 {
			diags.AddAttributeWarning(path.Root("node_selector"), "No node matches \""+target.Selector.String()+"\": no node is dedicated yet",
				"This apply changes workloads and no node. Nodes that match later are labelled and tainted at the first apply after that. If that is not intended, check the labels (kubectl get nodes --show-labels).")
		}
		return
	}
	var none []string
	for _, name := range target.Names {
		if !slices.ContainsFunc(observed.nodes, func(n *snapshot.Node) bool { return n.Name == name }) {
			none = append(none, name)
		}
	}
	if len(none) > 0 {
		diags.AddAttributeWarning(path.Root("node_names"), fmt.Sprintf("%s of %q: %s", message.CountVerb(len(none), "node does not exist yet", "nodes do not exist yet"), desired.owner(), message.Some(none)),
			"Apply waits for them as long as timeouts allows and changes them then. Pods that run on them by then are not in this preview. If a name is misspelled, correct it now (kubectl get nodes).")
	}
}

// warnAdopted warns that a create adopts entries of an earlier one.
func warnAdopted(desired wanted, observed observation, plan planner.Plan, own ownership, diags *diag.Diagnostics) {
	if own.Generation != "" || desired.releases() {
		return
	}
	nodes := slices.Concat(planner.PlanNodes(slices.Clone(observed.nodes), desired.nodes).TakenOver, planner.PlanLabels(observed.nodes, desired.labels).TakenOver)
	slices.Sort(nodes)
	taken := slices.Concat(slices.Compact(nodes), message.TakenOver(plan, desired.owner()))
	message.WarnAdopted("entries", fmt.Sprintf("%q on %s", desired.owner(), desired.place()), taken, diags)
}

// warnNotTaken names the workloads and policies of an earlier create that a create does not adopt,
// because the configuration does not name them.
func (r *dedicatedNodes) warnNotTaken(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	if own.Generation != "" || desired.releases() {
		return
	}
	// Errors are reported where they matter: this is a warning.
	marked, _ := r.Data.Cluster.MarkedAnywhere(ctx)
	policies, _ := r.Data.Cluster.Policies(ctx)
	left := slices.Concat(markedBy(desired.owner(), nil, marked), policiesOf(desired.owner(), policies))
	left = slices.DeleteFunc(left, func(name string) bool {
		return slices.ContainsFunc(desired.members, func(m member) bool { return m.Grouped() == name }) ||
			slices.ContainsFunc(desired.policies, func(p admission.Claim) bool { return "policy/"+p.Name == name })
	})
	if len(left) == 0 {
		return
	}
	diags.AddWarning(fmt.Sprintf("Creating %q leaves entries of an earlier create on %s: %s", desired.owner(), message.Count(len(left), "object"), message.Some(left)),
		"These objects have entries with this resource's id, and its configuration does not name them. If an earlier create was interrupted, nothing manages these entries, and a destroy leaves them: "+
			"add the objects to workloads or admission before you apply, and take them out after the apply. If this object replaces another one, the destroy of that one removes them.")
}

// warnWorkloads reports what the change costs the workloads, and what is in its
// way.
func (r *dedicatedNodes) warnWorkloads(ctx context.Context, desired wanted, observed observation, s *snapshot.Snapshot, plan planner.Plan, displaced planner.Displacement, diags *diag.Diagnostics) {
	subject := "Dedicating " + desired.place() + " to its workloads"
	if desired.releases() {
		subject = "Giving up the dedication of " + desired.place()
	}
	message.WarnCost(subject, plan, diags)
	if !desired.awaitsNodes(s) {
		steps := plan.Steps
		if slices.ContainsFunc(observed.members, func(m seen) bool { return m.left }) {
			// The warning of pods that lose their places says it.
			steps = slices.DeleteFunc(slices.Clone(steps), displaced.By)
		}
		rolled, missing := planner.Restarts(s, steps, r.Data.Comparison)
		message.WarnStuck(subject, rolled, missing, path.Root("workloads"), diags)
	}
	r.Data.WarnRestartedOnto(subject, desired.owner(), s, plan.Steps, diags)
	for _, s := range observed.members {
		if !s.claim.Release {
			message.WarnTemplate(s.workload, s.claim.Tolerations, true, len(s.pin.Labels) > 0, s.at, diags)
		}
		if slices.ContainsFunc(plan.Steps, func(step planner.Step) bool { return step.Workload == s.workload && step.Template() }) {
			r.Data.WarnWriters(ctx, s.planned(s.workload), s.at, diags)
		}
	}
	warnDaemonSets(observed, plan, diags)
}

// warnLeft reports which pods lose their places because their workloads are not meant any
// more.
func warnLeft(observed observation, displaced planner.Displacement, diags *diag.Diagnostics) {
	var left []string
	for _, s := range observed.members {
		if s.left {
			left = append(left, s.Title())
		}
	}
	if len(left) == 0 {
		return
	}
	subject := "Removing the tolerations of " + left[0]
	if len(left) > 1 {
		subject = "Removing the tolerations of " + message.Count(len(left), "workload")
	}
	message.WarnDisplaced(subject, displaced, message.GivenUp{
		At: path.Root("workloads"), Why: "Workloads taken out of workloads lose the tolerations and labels that this resource added, and these pods need them",
		Instead: "If these pods are to stay, leave their workload in workloads, or add the tolerations to its own manifest first.",
	}, diags)
}

// warnDaemonSets reports that pods of DaemonSets go when a label that they require
// gets another value: their controller judges by the template, and no template
// can require one value or the other (k8s.io/kubernetes v1.37.1
// pkg/controller/daemon/daemon_controller.go, NodeShouldRunDaemonPod).
func warnDaemonSets(observed observation, plan planner.Plan, diags *diag.Diagnostics) {
	var keys []string
	for _, step := range plan.Steps {
		for _, s := range step.Labels.Switches {
			keys = append(keys, s.Merged.Different...)
		}
	}
	for _, s := range observed.members {
		var pinned []string
		for _, key := range keys {
			if _, requires := s.workload.NodeSelector[key]; requires && s.Owner().DaemonSet() && !slices.Contains(pinned, key) {
				pinned = append(pinned, key)
			}
		}
		if len(pinned) > 0 {
			diags.AddAttributeWarning(path.Root("labels"), "The pods of "+s.Title()+" are replaced simultaneously",
				"A DaemonSet's pods are deleted immediately from a node that loses the labels which the template requires, and "+strings.Join(pinned, ", ")+" gets another value. To have them replaced one after the other, give the new value another key, and remove the old one.")
		}
	}
}
