// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// apply carries out what is desired, on as many MachineSets at once in a run as the
// provider block allows.
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
	run := &rolling{machineSetTaints: r, model: m, desired: desired, budget: budget, linked: linked, timeout: timeout, meant: meant}
	for n, err := range run.all(ctx) {
		if err != nil {
			diags.Append(explain(verb, desired, meant[n].Set, err))
		}
	}
	if diags.HasError() {
		return false
	}
	r.contract(ctx, desired, diags)
	return true
}

// rolling is the change of all MachineSets of a resource.
type rolling struct {
	*machineSetTaints
	model   model
	desired wanted
	budget  fw.Budget
	linked  []string
	timeout time.Duration
	meant   []machineset.Observed

	// checked is set once the change of all of them together has been.
	checked sync.Once
	over    error
}

// all changes each MachineSet when its turn has come, in the order of their names, and
// returns the error of each. Where one fails, those that have begun go on to their end,
// and no other one begins.
func (r *rolling) all(ctx context.Context) []error {
	errs := make([]error, len(r.meant))
	var failed atomic.Bool
	var begun sync.WaitGroup
	for n, o := range r.meant {
		done, err := r.data.Rollouts.Begin(ctx, o.Set.Key(), r.data.MaxConcurrentRollouts, func() {
			tflog.Info(ctx, "waiting for another rollout to end", map[string]any{"machine_set": o.Set.Key(), "at_once": r.data.MaxConcurrentRollouts})
		})
		if err != nil {
			errs[n] = err
			break
		}
		if failed.Load() {
			done()
			break
		}
		begun.Go(func() {
			defer done()
			errs[n] = r.rollOut(ctx, o)
			if errs[n] != nil {
				failed.Store(true)
			}
		})
	}
	begun.Wait()
	return errs
}

// rollOut changes one MachineSet. The clock starts now.
func (r *rolling) rollOut(ctx context.Context, o machineset.Observed) error {
	ctx, cancel := context.WithTimeout(ctx, r.timeout)
	defer cancel()
	d := r.desired.of(o.Set)
	if !d.Claim.Release && machineset.Plan(o, d).Changes() {
		if err := rollout.AwaitLinked(ctx, r.data.Cluster, &r.data.Planned, r.linked); err != nil {
			return err
		}
	}
	return rollout.RollOut(ctx, r.data.Cluster, o.Set.Key(), d, rollout.MachineHooks{
		Approve: func(now machineset.Observed) error {
			if refusals := machineset.Refuse(now, d); len(refusals) > 0 {
				return &refusedError{set: now.Set, refusals: refusals}
			}
			r.checked.Do(func() { r.over = r.allowed(ctx, r.meant, r.desired.target.place()) })
			if r.over != nil || len(r.meant) == 1 {
				return r.over
			}
			return r.allowed(ctx, []machineset.Observed{now}, now.Set.Title())
		},
	})
}

// allowed checks changes against what is there right before the first write: those of
// all MachineSets together before the first of all, since a budget is the resource's.
func (r *rolling) allowed(ctx context.Context, sets []machineset.Observed, place string) error {
	var all []machineset.Affected
	for _, o := range sets {
		now, there := r.data.Cluster.MachineSet(o.Set.Key())
		if !there {
			continue
		}
		a := machineset.Affected{Observed: now, Effect: machineset.Plan(now, r.desired.of(now.Set))}
		// What was allowed goes on: stopped in the middle it would cost more.
		if a.Effect.Interrupted == nil && len(a.Effect.Stale) > 0 {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil
	}
	snapshot, err := r.data.Cluster.SnapshotToDecide(ctx)
	if err != nil {
		return err
	}
	impact := machineset.Evaluate(snapshot, all, nil, r.data.Comparison, int(r.data.MaxConcurrentRollouts))
	if impact.Refused != nil {
		return &refusedError{set: impact.Refused, refusals: impact.Refusals}
	}
	about := subject("apply", all, place)
	about.Began = true
	return r.budget.Allow(impact.Report, about, path.Root("tolerated_by"), !r.model.Evictions.IsNull())
}

// contract takes away what pods lived by under the taints that have gone.
func (r *machineSetTaints) contract(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	if err := rollout.ContractTolerations(ctx, r.data.Cluster, r.data.Comparison); err != nil {
		diags.Append(fw.NotContracted(desired.target.place(), err))
	}
}
