// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Apply writes the templates, and rolls out: on as many MachineSets in parallel in a run as the provider block
// allows. A destroy gives up every entry with the same rollout.
func (r *machineSetTaints) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	desired := wantedBy(ctx, c, diags)
	if c.Verb == "create" {
		// The destroy of what this replaces hands over to it.
		r.Data.Created.Store(desired.Claim.Owner, desired.Claim)
	}
	if !r.apply(ctx, c.Verb, c.Model, desired, diags) || c.Verb == "delete" {
		return nil
	}
	held := r.held(ctx, desired)
	r.note(ctx, &c.Model, desired, diags)
	return &applied{Model: c.Model, Held: held, Lists: record.Held{}}
}

// held returns what the resource has of its own on MachineSets after an apply, nil where that is not known.
func (r *machineSetTaints) held(ctx context.Context, desired wanted) record.Held {
	sets, err := r.Data.Cluster.MachineSets(ctx)
	if err != nil {
		return nil
	}
	held := record.Held{}
	desired.sets().Hold(sets, held)
	return held
}

// apply carries out what is desired; false where it has failed.
func (r *machineSetTaints) apply(ctx context.Context, verb string, m model, desired wanted, diags *diag.Diagnostics) bool {
	timeout := tfschema.Timeout(ctx, m.Timeouts, verb, defaultTimeout, diags)
	linked, _ := tfschema.Linked(ctx, m.ToleratedBy, diags)
	limits, _ := tfschema.LimitsOf(ctx, m.Evictions, r.Data.Evictions, diags)
	if diags.HasError() {
		return false
	}
	release, err := r.Data.Cluster.FollowMachines(ctx)
	if err != nil {
		diags.Append(explain(verb, desired, limits, nil, err))
		return false
	}
	defer release()
	err = r.Data.HandOver(ctx, desired.target, desired.Desired)
	var sets []machineset.Observed
	if err == nil {
		sets, err = r.Data.Cluster.MachineSets(ctx)
	}
	if err != nil {
		diags.Append(explain(verb, desired, limits, nil, err))
		return false
	}
	meant := concerned(sets, desired)
	if desired.Claim.Release {
		// A replacement has no plan of its destroy.
		message.WarnLeftBehind(desired.changes(sets), diags)
	}
	if len(meant) == 0 && desired.target.Selector == nil && !desired.Claim.Release {
		diags.Append(gone(verb, desired))
		return false
	}
	change := rollout.Request{
		Owner: desired.Claim.Owner, MachineSets: &planner.DesiredSets{Target: desired.target, Desired: desired.Desired, AtOnce: int(r.Data.MaxConcurrentRollouts)},
		Machines: rollout.Machines{Slots: &r.Data.Rollouts, Timeout: timeout}, Shared: &r.Data.Planned, Effects: &r.Data.Effects, RetainedClaim: r.Data.RetainedClaim(desired.named(), desired.replaces && desired.Claim.Release, desired.known), Limits: limits.Limits,
	}
	if !desired.Claim.Release {
		change.Links = linked
	}
	done, err := rollout.Run(ctx, r.Data.Cluster, change, r.Data.Comparison)
	if sets := (rollout.SetErrors)(nil); errors.As(err, &sets) {
		for _, one := range sets {
			diags.Append(explain(verb, desired, limits, one.Set, one.Err))
		}
		return false
	}
	if err != nil {
		diags.Append(explain(verb, desired, limits, nil, err))
		return false
	}
	message.WarnRetained(desired.target.Place(), done, diags)
	return true
}
