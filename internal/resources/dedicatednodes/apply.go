// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// apply carries out what is desired, and returns what it has done; false where it has failed.
func (r *dedicatedNodes) apply(ctx context.Context, verb string, m model, desired wanted, diags *diag.Diagnostics) (done rollout.Result, ok bool) {
	limits, _ := tfschema.LimitsOf(ctx, m.Evictions, r.Data.Evictions, diags)
	if diags.HasError() {
		return done, false
	}
	r.Data.Keys.Register(desired.owner(), desired.lists)
	follow := func(ctx context.Context) (func(), error) { return r.Data.Cluster.Follow(ctx, true) }
	if desired.nodes.Target.MachineSets != nil {
		follow = r.Data.Cluster.FollowMachines
	}
	release, err := follow(ctx)
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return done, false
	}
	defer release()
	if !r.awaitNodes(ctx, desired, diags) {
		return done, false
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err == nil {
		desired.nodes, desired.labels, err = r.Data.WithMachines(ctx, nodes, desired.nodes, desired.labels)
	}
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return done, false
	}
	change := rollout.Request{
		Owner: desired.owner(), Labels: &desired.labels, Nodes: &desired.nodes, MachineSets: desired.sets(), Policies: desired.policies,
		Shared: &r.Data.Planned, Effects: &r.Data.Effects, RetainedClaim: r.Data.RetainedClaim(desired.named(), desired.nodes.Replaced, desired.nodes.Known), Limits: limits.Limits,
	}
	if change.MachineSets != nil {
		change.MachineSets.AtOnce = int(r.Data.MaxConcurrentRollouts)
		if err := r.handOver(ctx, desired, diags); err != nil {
			diags.Append(explain(verb, desired, err))
			return done, false
		}
		change.Machines.Slots = &r.Data.Rollouts
	}
	for _, one := range desired.members {
		// Another resource of this run may have created the ConfigMap whose last entry goes.
		one.claim.Known = change.RetainedClaim.Known
		change.Workloads = append(change.Workloads, one.rollout())
	}
	done, err = rollout.Run(ctx, r.Data.Cluster, change, r.Data.Comparison)
	if err != nil {
		if said := desired.words(limits, 0).Explain(err, false); said != nil {
			diags.Append(said)
		} else {
			diags.Append(explain(verb, desired, err))
		}
		return done, false
	}
	message.WarnRetained(desired.place(), done, diags)
	r.noteApplied(ctx, desired)
	return done, true
}

// handOver hands over what machines kept, and warns of what a destroy leaves there: a
// replacement has no plan of its destroy.
func (r *dedicatedNodes) handOver(ctx context.Context, desired wanted, diags *diag.Diagnostics) error {
	of := desired.sets()
	if err := r.Data.HandOver(ctx, of.Target, of.Desired); err != nil || !desired.releases() {
		return err
	}
	sets, err := r.Data.Cluster.MachineSets(ctx)
	message.WarnLeftBehind(of.Changes(sets), diags)
	return err
}

// awaitNodes waits for nodes that are named and do not exist yet.
func (r *dedicatedNodes) awaitNodes(ctx context.Context, desired wanted, diags *diag.Diagnostics) bool {
	if desired.releases() {
		return true
	}
	for _, name := range desired.nodes.Target.Names {
		if err := r.Data.Cluster.WaitForNode(ctx, name); err != nil {
			diags.Append(message.NodeDidNotJoin(path.Root("node_names"), name, "Check the name (kubectl get nodes), set a longer timeout in timeouts, or remove it from node_names.", err))
			return false
		}
	}
	return true
}

// explain words an error of a change.
func explain(verb string, desired wanted, err error) diag.Diagnostic {
	if refused := new(rollout.RefusedError); errors.As(err, &refused) {
		return message.ExplainRefusals(desired.nodes, refused.Refusals)
	}
	if about, ok := desired.memberOf(err); ok {
		if said := message.ExplainWorkload(verb, about.Title(), about.at, err); said != nil {
			return said
		}
		if said := message.ExplainRecord(err, about.Title(), about.APIVersion, about.at.Workload); said != nil {
			return said
		}
	}
	if said := explainPolicies(verb, desired, err); said != nil {
		return said
	}
	if said := explainSets(verb, desired, goesOn(verb), err); said != nil {
		return said
	}
	return message.Failed("Unable to "+verb+" the dedication of "+desired.place(), goesOn(verb), err)
}

// explainPolicies words what is wrong with a policy of admission; nil where the error is
// about none.
func explainPolicies(verb string, desired wanted, err error) diag.Diagnostic {
	about := new(policyError)
	if !errors.As(err, &about) && !errors.As(err, new(*admission.Conflict)) && !errors.Is(err, kube.ErrNoPolicies) {
		return nil
	}
	for _, p := range desired.policies {
		if said := message.ExplainPolicy(verb, p.Name, policyAt, err); said != nil && (about.name == "" || about.name == p.Name) {
			return said
		}
	}
	return nil
}

// goesOn reports what has been written, and what the next apply does. An import names taints, which come last, so that it is
// no way back.
func goesOn(verb string) string {
	return message.GoesOn(verb, "It is done step by step; "+message.Owned, "let an apply succeed and destroy the resource.")
}

// memberOf finds the workload that an error is about.
func (w wanted) memberOf(err error) (member, bool) {
	conflict, hold, stuck, other := new(rollout.ConflictError), new(rollout.HoldError), new(rollout.StuckError), new(rollout.WorkloadError)
	config, name := new(workload.ConfigError), ""
	switch {
	case errors.As(err, &config):
		name = config.Ref.Grouped()
	case errors.As(err, &conflict):
		name = conflict.Conflicts[0].Workload.Grouped()
	case errors.As(err, &hold):
		name = hold.Workload.Grouped()
	case errors.As(err, &stuck):
		name = stuck.Workload.Grouped()
	case errors.As(err, &other):
		name = other.Ref.Grouped()
	}
	for _, m := range w.members {
		if m.Grouped() == name {
			return m, true
		}
	}
	return member{}, false
}

// warnOrphans reports that marks with the destroyed resource's id stay behind. A
// replacement that this process made is no such case.
func (r *dedicatedNodes) warnOrphans(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if _, replaced := r.Data.Created.Load(desired.owner()); err != nil || replaced {
		return
	}
	marked, err := r.Data.Cluster.MarkedAnywhere(ctx)
	if err != nil && !errors.Is(err, kube.ErrForbidden) {
		return
	}
	left := markedBy(desired.owner(), nodes, marked)
	if sets := desired.sets(); sets != nil {
		all, _ := r.Data.Cluster.MachineSets(ctx)
		left = append(left, markedSets(desired.owner(), all)...)
	}
	policies, _ := r.Data.Cluster.Policies(ctx)
	left = append(left, policiesOf(desired.owner(), policies)...)
	if len(left) > 0 {
		diags.AddWarning(fmt.Sprintf("Entries owned by %q were left in %s: %s", desired.owner(), message.Count(len(left), "place"), message.Some(left)),
			"They were written by another instance of this resource. If the resource was recreated under the same id, this is fine. If a create or a replacement was abandoned, nothing manages them: create the resource again with all of these in its configuration, and destroy it.")
	}
}

// markedSets names the MachineSets whose templates carry marks of an owner.
func markedSets(owner string, sets []machineset.Observed) []string {
	var out []string
	for _, o := range sets {
		if slices.ContainsFunc(o.Set.Record, func(m taint.Mark) bool { return m.Owner == owner }) ||
			slices.ContainsFunc(o.Set.LabelRecord, func(m label.Mark) bool { return m.Owner == owner }) {
			out = append(out, "machineset/"+o.Set.Key())
		}
	}
	return out
}

// policiesOf names the policies of an owner.
func policiesOf(owner string, policies []admission.Observed) []string {
	var out []string
	for _, p := range policies {
		if p.Owner == owner {
			out = append(out, "policy/"+p.Name)
		}
	}
	return out
}

// markedBy names the nodes and workloads that carry marks of an owner. What
// retires has no owner.
func markedBy(owner string, nodes []*snapshot.Node, workloads []kube.Marked) []string {
	ours := func(m label.Mark) bool { return m.Owner == owner }
	var out []string
	for _, n := range nodes {
		if slices.ContainsFunc(n.Record, func(m taint.Mark) bool { return m.Owner == owner }) || slices.ContainsFunc(n.LabelRecord, ours) {
			out = append(out, "node/"+n.Name)
		}
	}
	slices.Sort(out)
	for _, w := range workloads {
		if slices.ContainsFunc(w.Record, func(m toleration.Mark) bool { return m.Owner == owner && !m.Retiring }) || slices.ContainsFunc(w.Pins, ours) {
			out = append(out, w.Grouped())
		}
	}
	return out
}
