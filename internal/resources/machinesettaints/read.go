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
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Read compares the MachineSets with the state. State is dropped on one ground
// alone: the named MachineSet does not exist, in a cluster that has the Machine API.
func (r *machineSetTaints) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	own := managed.LoadOwnership[taint.ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	stored, _ := state.desired(ctx, own, &resp.Diagnostics)
	tfschema.KeepIdentity(ctx, resp.Identity, identityOf(ctx, state, stored, &resp.Diagnostics), &resp.Diagnostics)
	target, _ := state.targets(&resp.Diagnostics)
	cluster, sets, err := r.observe(ctx, own.Cluster, target, &resp.Diagnostics)
	if err != nil || resp.Diagnostics.HasError() {
		// The stored state stays as it is.
		r.Data.Unreadable("the MachineSets of \""+state.ID.ValueString()+"\"", err, &resp.Diagnostics)
		return
	}
	if !own.Sealed() {
		if own = recovered(ctx, own, state, sets, &resp.Diagnostics); resp.Diagnostics.HasError() {
			return
		}
	}
	own.Cluster = cluster
	desired, _ := state.desired(ctx, own, &resp.Diagnostics)
	if resp.Diagnostics.HasError() {
		return
	}
	if desired.target.Selector == nil && len(concerned(sets, desired)) == 0 {
		resp.State.RemoveResource(ctx)
		return
	}
	own.Drifted = state.look(ctx, concerned(sets, desired), desired, &resp.Diagnostics)
	own.Save(ctx, resp.Private, &resp.Diagnostics)
	r.Data.Link(ctx, req.Private, resp.Private, &resp.Diagnostics, state.ToleratedBy)
	resp.Diagnostics.Append(resp.State.Set(ctx, state)...)
	if resp.Identity != nil {
		resp.Diagnostics.Append(resp.Identity.Set(ctx, identityOf(ctx, state, desired, &resp.Diagnostics))...)
	}
}

// observe returns the cluster's id and its MachineSets, with the target where it is there
// by now. A cluster other than the expected one is an error in the diagnostics, before
// anything else is read.
func (r *machineSetTaints) observe(ctx context.Context, expected string, target machineset.Target, diags *diag.Diagnostics) (string, []machineset.Observed, error) {
	cluster, err := r.Data.Identify(ctx, expected, diags)
	if err != nil || diags.HasError() {
		return "", nil, err
	}
	sets, err := r.Data.Cluster.MachineSetsWith(ctx, target)
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(message.NoMachineAPI(err))
		return cluster, nil, nil
	}
	return cluster, sets, err
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

// look puts into the model how machines differ, and whether a rollout is
// interrupted. It reports whether a template differs: machines do for as long as they live
// where a rollout leaves them as they are, so that the state alone does not tell.
func (m *model) look(ctx context.Context, sets []machineset.Observed, w wanted, diags *diag.Diagnostics) (drifted bool) {
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
		m.look(ctx, concerned(sets, desired), desired, diags)
	}
}
