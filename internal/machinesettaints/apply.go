// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// apply carries out what is desired, one MachineSet after the other: at most as many
// at once in a run as the provider block allows.
func (r *machineSetTaints) apply(ctx context.Context, verb string, m model, desired wanted, timeout time.Duration, diags *diag.Diagnostics) bool {
	linked, _ := fw.Linked(ctx, m.ToleratedBy, diags)
	budget, _ := fw.BudgetOf(ctx, m.Evictions, r.data.Evictions, diags)
	if diags.HasError() {
		return false
	}
	release, err := r.data.Cluster.FollowMachines(ctx)
	if err != nil {
		diags.Append(explain(verb, desired, nil, err))
		return false
	}
	defer release()
	sets, err := r.data.Cluster.MachineSets(ctx)
	if err != nil {
		diags.Append(explain(verb, desired, nil, err))
		return false
	}
	meant := concerned(sets, desired)
	if len(meant) == 0 && desired.target.selector == nil && !desired.Claim.Release {
		diags.Append(gone(verb, desired))
		return false
	}
	for _, o := range meant {
		if err := r.rollOut(ctx, m, o, desired, budget, linked, timeout); err != nil {
			diags.Append(explain(verb, desired, o.Set, err))
			return false
		}
	}
	r.contract(ctx, desired, diags)
	return true
}

// rollOut changes one MachineSet when its turn has come; the clock starts then.
func (r *machineSetTaints) rollOut(ctx context.Context, m model, o machineset.Observed, desired wanted, budget fw.Budget, linked []string, timeout time.Duration) error {
	done, err := r.data.Rollouts.Begin(ctx, o.Set.Key(), r.data.MaxConcurrentRollouts)
	if err != nil {
		return err
	}
	defer done()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	d := desired.of(o.Set)
	if !d.Claim.Release && machineset.Plan(o, d).Changes() {
		if err := rollout.AwaitLinked(ctx, r.data.Cluster, &r.data.Planned, linked); err != nil {
			return err
		}
	}
	return rollout.RollOut(ctx, r.data.Cluster, o.Set.Key(), d, rollout.MachineHooks{
		Approve: func(now machineset.Observed) error {
			return r.allowed(ctx, m, now, d, budget)
		},
	})
}

// allowed checks a change against what is there right before the first write.
func (r *machineSetTaints) allowed(ctx context.Context, m model, o machineset.Observed, d machineset.Desired, budget fw.Budget) error {
	if refusals := machineset.Refuse(o, d); len(refusals) > 0 {
		return &refusedError{set: o.Set, refusals: refusals}
	}
	effect := machineset.Plan(o, d)
	if effect.Interrupted != nil || len(effect.Stale) == 0 {
		// What was allowed goes on: stopped in the middle it would cost more.
		return nil
	}
	snapshot, err := r.data.Cluster.Snapshot(ctx)
	if err != nil {
		return err
	}
	all := []machineset.Affected{{Observed: o, Effect: effect}}
	impact := machineset.Evaluate(snapshot, all, nil, r.data.Comparison)
	if impact.Refused != nil {
		return &refusedError{set: impact.Refused, refusals: impact.Refusals}
	}
	about := subject("apply", all, o.Set.Title())
	about.Began = true
	return budget.Allow(impact.Report, about, path.Root("tolerated_by"), !m.Evictions.IsNull())
}

// contract takes away what pods lived by under the taints that have gone.
func (r *machineSetTaints) contract(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	if err := rollout.ContractTolerations(ctx, r.data.Cluster, r.data.Comparison); err != nil {
		diags.Append(fw.NotContracted(desired.target.place(), err))
	}
}
