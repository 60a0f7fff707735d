// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// observation is what the cluster shows of what is wanted.
type observation struct {
	cluster string
	// of is what was looked for.
	of    wanted
	nodes []*snapshot.Node
	// sets are all MachineSets, where any are meant.
	sets []machineset.Observed
	// members are the workloads that exist; absent those that do not.
	members []seen
	absent  []absence
	// policies are those of admission, by name; nil for one that there is not.
	policies map[string]*admission.Observed
}

// seen is a member as it was observed.
type seen struct {
	member
	workload *workload.Workload
}

// absence is a member that there is not, or that cannot be read as one.
type absence struct {
	member
	err error
}

// observe reads nodes and workloads. A cluster other than the expected one is an
// error in the diagnostics, before anything else is read.
func (r *dedicatedNodes) observe(ctx context.Context, desired wanted, expected string, diags *diag.Diagnostics) (observation, error) {
	cluster, err := r.Data.Identify(ctx, expected, diags)
	if err != nil || diags.HasError() {
		return observation{}, err
	}
	o, err := r.observeHere(ctx, desired, diags)
	o.cluster = cluster
	return o, err
}

// observeHere is the same in a cluster that is known to be the right one.
func (r *dedicatedNodes) observeHere(ctx context.Context, desired wanted, diags *diag.Diagnostics) (observation, error) {
	o := observation{of: desired}
	var err error
	if o.nodes, err = r.Data.Cluster.Nodes(ctx); err != nil {
		return o, err
	}
	if o.sets, err = r.observeSets(ctx, desired, diags); err != nil || diags.HasError() {
		return o, err
	}
	if o.policies, err = r.observePolicies(ctx, desired); err != nil {
		return o, err
	}
	for _, m := range desired.members {
		w, err := r.Data.Cluster.Workload(ctx, m.Ref, m.Path)
		wrongPath, config := new(workload.PathError), new(workload.ConfigError)
		switch {
		case err == nil:
			o.members = append(o.members, seen{m, w})
		case kube.Gone(err), errors.Is(err, kube.ErrNoVersion), errors.As(err, &wrongPath), errors.As(err, &config):
			o.absent = append(o.absent, absence{m, err})
		default:
			return o, err
		}
	}
	return o, nil
}

// withLeavers adds the workloads and policies that are not meant any more: workloads of an earlier
// configuration, and all that carry ownership records of this resource, as an update that was killed
// leaves them.
func (r *dedicatedNodes) withLeavers(ctx context.Context, desired, before wanted, diags *diag.Diagnostics) wanted {
	all, err := r.leavers(ctx, desired, before)
	if err != nil {
		diags.Append(message.UnableTo("find the workloads and policies owned by \""+desired.owner()+"\"", err))
	}
	return all
}

// leavers is the same with the error of reading the cluster.
func (r *dedicatedNodes) leavers(ctx context.Context, desired, before wanted) (wanted, error) {
	found, err := r.marked(ctx, desired)
	desired.members = slices.Clone(desired.members)
	for _, m := range slices.Concat(before.members, found) {
		if slices.ContainsFunc(desired.members, func(other member) bool { return other.key() == m.key() }) {
			continue
		}
		m.claim.Release, m.pin.Release, m.left = true, true, true
		// It stands at no index any more.
		all := path.Root("workloads")
		m.at = message.WorkloadAt{Workload: all, Path: all, Tolerations: all, Pin: all}
		desired.members = append(desired.members, m)
	}
	if err != nil {
		return desired, err
	}
	return r.withPolicies(ctx, desired)
}

// marked finds the workloads that carry marks of this generation. Who may not
// list workloads knows those of the state alone.
func (r *dedicatedNodes) marked(ctx context.Context, desired wanted) ([]member, error) {
	all, err := r.Data.Cluster.MarkedAnywhere(ctx)
	if err != nil && !errors.Is(err, kube.ErrForbidden) {
		return nil, err
	}
	claim := toleration.Claim{Owner: desired.owner(), Generation: desired.nodes.Claim.Generation, Seal: desired.lists}
	pin := label.Claim{Owner: claim.Owner, Generation: claim.Generation, Seal: claim.Seal}
	var out []member
	for _, m := range all {
		for _, list := range ownPaths(m, claim.On(m.Grouped()), pin.On(m.Grouped())) {
			one := member{WorkloadTarget: session.WorkloadTarget{Ref: m.Ref, ClaimPath: list}, claim: claim, pin: pin}
			one.claim.Path = list
			if kind, known := workload.Lookup(m.APIVersion, m.Kind); list == "" && known {
				one.Path = kind.Path
			} else if fields, err := workload.SplitPath(list); err == nil {
				one.Path = fields
			} else {
				continue
			}
			out = append(out, one)
		}
	}
	return out, nil
}

// ownPaths returns the lists of an object in which something is owned, by its proof.
func ownPaths(m kube.Marked, claim toleration.Claim, pin label.Claim) []string {
	var out []string
	if pin.Owns(m.Pins) {
		out = append(out, "")
	}
	for _, mark := range m.Record {
		if claim.Path = mark.Path; claim.Owns(toleration.Record{mark}) && !slices.Contains(out, mark.Path) {
			out = append(out, mark.Path)
		}
	}
	return out
}

// forget takes away what is held of workloads, and is not there any more.
func (o observation) forget(held record.Held) {
	workloads := make([]planner.Tolerations, len(o.members))
	for i, s := range o.members {
		workloads[i] = s.planned(s.workload)
	}
	planner.Forget(workloads, held)
}

// change is the change of everything observed, for the planner.
func (o observation) change(desired wanted) planner.Change {
	c := planner.Change{MachineSets: o.changes(desired), Nodes: []planner.NodeTaints{desired.nodes}, Labels: []planner.NodeLabels{desired.labels}, Policies: o.desiredPolicies(desired)}
	for _, s := range o.members {
		c.Workloads = append(c.Workloads, s.planned(s.workload))
	}
	return c
}
