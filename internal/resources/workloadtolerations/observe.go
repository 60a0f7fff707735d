// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// observation is what the cluster shows of a target.
type observation struct {
	cluster string
	// nonce is that of the seal by which marks were found.
	nonce string
	// workloads are those that are meant, by name.
	workloads []*workload.Workload
	// leavers carry owned entries and are no longer meant.
	leavers []*workload.Workload
}

// observe reads the workloads that are meant, and those that are no longer meant
// and carry ownership records of this resource. A cluster other than the expected one is an error in
// the diagnostics.
func (r *workloadTolerations) observe(ctx context.Context, desired wanted, expected string, diags *diag.Diagnostics) (observation, error) {
	cluster, err := r.Data.Identify(ctx, expected, diags)
	if err != nil || diags.HasError() {
		return observation{}, err
	}
	o, err := r.observeHere(ctx, desired)
	o.cluster = cluster
	return o, err
}

// observeHere is the same in a cluster that is known to be the right one.
func (r *workloadTolerations) observeHere(ctx context.Context, desired wanted) (o observation, err error) {
	t := desired.target
	o.nonce = desired.claim.Seal.Nonce
	if t.Selector == nil {
		for _, ref := range t.Each() {
			w, err := r.Data.Cluster.Workload(ctx, ref, t.Path)
			if err != nil {
				return o, err
			}
			o.workloads = append(o.workloads, w)
		}
		return o, nil
	}
	var marked []kube.Marked
	if desired.claim.Generation == "" {
		o.workloads, err = r.Data.Cluster.Workloads(ctx, t.Ref, t.Selector, t.Path)
	} else {
		o.workloads, marked, err = r.Data.Cluster.WorkloadsAndMarked(ctx, t.Ref, t.Selector, t.Path)
	}
	if err != nil {
		return o, err
	}
	slices.SortFunc(o.workloads, func(a, b *workload.Workload) int { return strings.Compare(a.Name, b.Name) })
	o.leavers, err = r.leavers(ctx, desired, marked)
	return o, err
}

// leavers are the workloads that a selector no longer matches and that carry
// owned entries.
func (r *workloadTolerations) leavers(ctx context.Context, desired wanted, marked []kube.Marked) ([]*workload.Workload, error) {
	var out []*workload.Workload
	for _, m := range marked {
		if !left(desired.claim).On(m.Grouped()).Owns(m.Record) {
			continue
		}
		w, err := r.Data.Cluster.Workload(ctx, m.Ref, desired.target.Path)
		if kube.Gone(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out = append(out, w)
	}
	return out, nil
}

// change is the change of everything observed, for the planner.
func (o observation) change(desired wanted) planner.Change {
	var out planner.Change
	for _, w := range o.workloads {
		out.Workloads = append(out.Workloads, planner.Tolerations{Workload: w, Claim: desired.claim, RemoveImmediately: desired.now, NoWait: desired.noWait})
	}
	for _, w := range o.leavers {
		out.Workloads = append(out.Workloads, planner.Tolerations{Workload: w, Claim: left(desired.claim), RemoveImmediately: desired.now, NoWait: true})
	}
	return out
}

// rollouts is the same change by reference, for the actor.
func (o observation) rollouts(desired wanted) []rollout.Tolerations {
	change := o.change(desired)
	out := make([]rollout.Tolerations, len(change.Workloads))
	for i, t := range change.Workloads {
		out[i] = rollout.Tolerations{Ref: t.Workload.Ref, Path: desired.target.Path, Claim: t.Claim, RemoveImmediately: t.RemoveImmediately, NoWait: t.NoWait}
	}
	return out
}

// forget takes away what is held of workloads, and is not there any more.
func (o observation) forget(desired wanted) func(record.Held) {
	return func(held record.Held) { planner.Forget(o.change(desired).Workloads, held) }
}

// left is the claim on a workload that is no longer meant: a mark counts there by its proof alone,
// whatever entry it is about. Of what was imported, only what carries a mark that the import has
// seen is known to be owned.
func left(claim toleration.Claim) toleration.Claim {
	claim.Release, claim.Tolerations = true, nil
	imported := make(map[toleration.ID][]string, len(claim.Imported))
	for id, generations := range claim.Imported {
		imported[id] = slices.DeleteFunc(slices.Clone(generations), func(g string) bool { return g == "" })
	}
	claim.Imported = imported
	return claim
}
