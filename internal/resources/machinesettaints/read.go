// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Observe reads the MachineSets, with the target where it is there by now.
func (r *machineSetTaints) Observe(ctx context.Context, m model, _ ownership, diags *diag.Diagnostics) ([]machineset.Observed, error) {
	target, _ := m.targets(diags)
	sets, err := r.Data.Cluster.MachineSetsWith(ctx, target)
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(message.NoMachineAPI(err))
		return nil, nil
	}
	return sets, err
}

// Recover finds the marks with the state's id.
func (r *machineSetTaints) Recover(ctx context.Context, own ownership, state model, sets []machineset.Observed, diags *diag.Diagnostics) (ownership, error) {
	found := managed.GenerationsOf(state.ID.ValueString())
	for _, o := range sets {
		for _, mark := range o.Set.Record {
			found.Note(o.Set.Title(), mark.Owner, mark.Generation)
		}
	}
	own = own.Recover(func() string { return found.One("No MachineSet", diags) })
	marks := own.Find(state.ID.ValueString(), own.HeldSeal())
	marks.Sets(sets)
	desired, _ := state.Desired(ctx, own, diags)
	own = own.TookUnmarked(marks.UnmarkedInSets(desired.target, sets, taint.IDs(desired.Claim.Taints)))
	return own.See(marks.Held, record.Held{}), nil
}

// Refresh compares the MachineSets with the state. State is dropped where the named MachineSet does not exist, in a
// cluster that has the Machine API.
func (r *machineSetTaints) Refresh(ctx context.Context, state model, own ownership, sets []machineset.Observed, diags *diag.Diagnostics) (model, ownership, error) {
	desired, _ := state.Desired(ctx, own, diags)
	meant := concerned(sets, desired)
	switch {
	case diags.HasError():
		return state, own, nil
	case desired.target.Selector == nil && len(meant) == 0:
		return state, own, managed.Gone(kube.ErrNotFound)
	}
	own.Drifted = state.noteDrift(ctx, meant, desired, diags)
	return state, own, nil
}

// concerned are the MachineSets that are meant, and those that carry something of
// owned, by name.
func concerned(sets []machineset.Observed, w wanted) []machineset.Observed {
	var out []machineset.Observed
	for _, o := range sets {
		if meant := w.target.Matches(o.Set); meant || w.of(o.Set).Owns(o.Set) {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b machineset.Observed) int { return strings.Compare(a.Set.Key(), b.Set.Key()) })
	return out
}

// noteDrift puts into the model how machines differ, and whether a rollout is
// interrupted. It reports whether a template differs: machines do for as long as they live
// where a rollout leaves them as they are, so that the state alone does not tell.
func (m *model) noteDrift(ctx context.Context, sets []machineset.Observed, w wanted, diags *diag.Diagnostics) (drifted bool) {
	differ, state := map[string]taint.Status{}, stateComplete
	for _, o := range sets {
		maps.Copy(differ, machineset.Deviations(o, w.of(o.Set)))
		if o.Set.Marker != nil && o.Set.Marker.ID == w.Claim.Owner {
			state = stateInterrupted
		}
		if machineset.Plan(o, w.of(o.Set)).Template.Changed {
			// The template itself has lost an entry, or a set has come or left.
			differ[o.Set.Name], drifted = taint.Different, true
		}
	}
	m.Machines, m.RolloutState = noMachines(), types.StringValue(state)
	if len(differ) > 0 {
		var found diag.Diagnostics
		m.Machines, found = types.MapValueFrom(ctx, types.StringType, differ)
		diags.Append(found...)
	}
	return drifted
}

// note puts into the model what an apply has left: nothing, unless machines are left as they
// are.
func (r *machineSetTaints) note(ctx context.Context, m *model, desired wanted, diags *diag.Diagnostics) {
	m.RolloutState = types.StringValue(stateComplete)
	if desired.Rollout.Strategy != machineset.TemplateOnly {
		m.Machines = noMachines()
		return
	}
	if !m.Machines.IsUnknown() {
		// Nothing was written if it is known at plan.
		return
	}
	m.Machines = noMachines()
	if sets, err := r.Data.Cluster.MachineSets(ctx); err == nil {
		m.noteDrift(ctx, concerned(sets, desired), desired, diags)
	}
}
