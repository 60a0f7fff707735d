// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Ordered returns the plan of the resource of this id with what other resources count of it, and the snapshot that it
// is made of: with what resources do that this run has planned before. What it evicts itself does not depend on them,
// so that it is noted first. Errors: those of the API server.
func (d *Data) Ordered(ctx context.Context, owner string, limits eviction.Limits, s *snapshot.Snapshot, order func(*snapshot.Snapshot) planner.Plan) (planner.Plan, *snapshot.Snapshot, error) {
	plan, s, err := rollout.Ordered(ctx, d.Cluster, s, order)
	if err != nil {
		return plan, s, err
	}
	does := plan.Does()
	does.MaxPending = limits.MaxPending
	others := d.Effects.Note(owner, does, d.MaxConcurrentRollouts == 1)
	if others.Empty() {
		rollout.Worded(ctx, plan)
		return plan, s, nil
	}
	// Others may have read more of their pods meanwhile.
	if s, err = d.Cluster.Snapshot(ctx); err != nil {
		return plan, s, err
	}
	plan, s, err = rollout.Ordered(ctx, d.Cluster, s, func(s *snapshot.Snapshot) planner.Plan { return order(s.Beside(others)) })
	if err == nil {
		rollout.Worded(ctx, plan)
	}
	return plan, s.Beside(others), err
}

// Exceeded finds the limits of resources planned before that the plan of this one exceeds.
func (d *Data) Exceeded(owner string, s *snapshot.Snapshot, plan planner.Plan, order func(*snapshot.Snapshot) planner.Plan) func() []eviction.Excess {
	return func() []eviction.Excess {
		return d.Effects.Exceeded(owner, d.MaxConcurrentRollouts == 1, s, plan, order)
	}
}
