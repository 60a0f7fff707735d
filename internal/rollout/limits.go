// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// LimitsError reports that steps strand pods, or evict more than the limits allow. None of them
// has been made.
type LimitsError struct {
	*eviction.LimitsError
	// Steps are those that may evict or strand pods.
	Steps []planner.Step
	// Began is set where steps before them have been made.
	Began bool
}

// Unwrap returns what exceeds the limits.
func (e *LimitsError) Unwrap() error { return e.LimitsError }

// SetRefusedError reports that a MachineSet must not be changed, or not in this way.
type SetRefusedError struct {
	Set      *machineset.Set
	Refusals []machineset.Refusal
	// Labels reports that it is about labels alone.
	Labels bool
}

// Error returns the first reason.
func (e *SetRefusedError) Error() string { return e.Refusals[0].Why }

// allowed checks a whole plan before the first write. A change without pods has none to
// evict, and rollouts of machines that go on have begun already.
func (r *run) allowed(ctx context.Context, plan planner.Plan) error {
	plan = plan.Beginning()
	if set, refusals := plan.Refused(); set != nil {
		return &SetRefusedError{Set: set, Refusals: refusals}
	}
	if !r.pods {
		return nil
	}
	steps, report := plan.Impact()
	return r.within(ctx, steps, report, false)
}

func (r *run) within(ctx context.Context, steps []planner.Step, report *eviction.Report, began bool) error {
	over := new(eviction.LimitsError)
	if errors.As(r.change.Limits.Allow(report), &over) {
		over.Unmodelled = Unmodelled(ctx, r.cluster, report)
		return &LimitsError{LimitsError: over, Steps: steps, Began: began}
	}
	return nil
}

// approve checks nodes right before they are written, against the pods that run there then.
// Nodes that have come since the last look may have pods that the watch has not shown yet.
func (r *run) approve(ctx context.Context, fresh planner.NodePlan) error {
	if !fresh.Needs(r.change.Limits) {
		return nil
	}
	if len(r.approved) > len(fresh.Switches) {
		if err := r.cluster.RelistPods(ctx); err != nil {
			return err
		}
	}
	if err := r.withPods(ctx); err != nil {
		return err
	}
	if s, err := r.cluster.Snapshot(ctx); err != nil || s == r.checked {
		// Nothing has changed since the whole plan was checked.
		return err
	}
	now, err := r.plan(ctx)
	if err != nil {
		return err
	}
	for _, step := range now.Steps {
		if step.Kind != planner.ApplyTaints || step.Report == nil {
			continue
		}
		step.Nodes.Switches = slices.DeleteFunc(slices.Clone(step.Nodes.Switches), func(s planner.Switch) bool {
			return !slices.ContainsFunc(fresh.Switches, func(f planner.Switch) bool { return f.Node.Name == s.Node.Name })
		})
		if err := r.within(ctx, []planner.Step{step}, step.Report.On(step.Nodes.Names()), true); err != nil {
			return err
		}
	}
	return nil
}
