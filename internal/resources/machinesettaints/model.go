// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID           types.String   `tfsdk:"id"`
	Namespace    types.String   `tfsdk:"namespace"`
	Name         types.String   `tfsdk:"name"`
	Selector     types.String   `tfsdk:"selector"`
	Taints       types.Set      `tfsdk:"taints"`
	OnConflict   types.String   `tfsdk:"on_conflict"`
	Evictions    types.Object   `tfsdk:"evictions"`
	ToleratedBy  types.Set      `tfsdk:"tolerated_by"`
	Rollout      types.Object   `tfsdk:"rollout"`
	Machines     types.Map      `tfsdk:"machines"`
	RolloutState types.String   `tfsdk:"rollout_state"`
	Timeouts     timeouts.Value `tfsdk:"timeouts"`
}

// identity is what an import block by identity names.
type identity struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Selector  types.String `tfsdk:"selector"`
	Taints    types.List   `tfsdk:"taints"`
}

// ownership is what the resource remembers beside its state, change what a plan or an apply is about, and applied
// what an apply has left.
type (
	ownership = managed.Ownership[taint.ID]
	change    = managed.Operation[model, wanted, taint.ID]
	applied   = managed.Applied[model]
)

// Title names what is read.
func (m model) Title(context.Context) string {
	return "the MachineSets of \"" + m.ID.ValueString() + "\""
}

// Links is the value of tolerated_by.
func (m model) Links() types.Set { return m.ToleratedBy }

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// wanted is what the model wants.
type wanted struct {
	target machineset.Target
	machineset.Desired
	// known proves the tolerations that others have left for these taints.
	known []record.Seal
	// retired are the taints that were wanted before.
	retired []taint.ID
	// replaces is set for a replacement, which destroys first.
	replaces bool
}

// TakingOver is the same of a create, which adopts what carries its id.
func (w wanted) TakingOver() wanted {
	w.Claim.TakeOver = true
	return w
}

// Entries are the taints that are wanted.
func (w wanted) Entries() []taint.ID { return taint.IDs(w.Claim.Taints) }

// wantedBy is what a change wants.
func wantedBy(ctx context.Context, c change, diags *diag.Diagnostics) wanted {
	out := c.Want
	out.known, out.replaces = c.Known, c.Replaced
	if c.Former != nil {
		before, _ := c.Former.Desired(ctx, c.Own, diags)
		out = out.retire(before)
		out.replaces = !c.Model.Name.Equal(c.Former.Name) || !c.Model.Namespace.Equal(c.Former.Namespace)
	}
	return out
}

// of is what is wanted of one MachineSet.
func (w wanted) of(s *machineset.Set) machineset.Desired { return w.Of(s, w.target) }

// sets is what is wanted of all MachineSets.
func (w wanted) sets() planner.DesiredSets {
	return planner.DesiredSets{Target: w.target, Desired: w.Desired}
}

// changes are those of the MachineSets that are there.
func (w wanted) changes(sets []machineset.Observed) planner.MachineSets {
	return w.sets().Changes(sets)
}

// noMachines is the value of machines when in sync.
func noMachines() types.Map {
	return types.MapValueMust(types.StringType, nil)
}

func (m model) targets(diags *diag.Diagnostics) (machineset.Target, bool) {
	return tfschema.MachineSetTarget(m.Namespace, m.Name, m.Selector, path.Root("selector"), diags)
}

// Desired returns what the model wants and what it may call its own; false while
// any of it is not known.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	t, targetKnown := m.targets(diags)
	taints, taintsKnown := tfschema.Taints(ctx, m.Taints, diags)
	rollout, rolloutKnown := tfschema.RolloutOf(ctx, m.Rollout, diags)
	if !targetKnown || !taintsKnown || !rolloutKnown || m.OnConflict.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	return wanted{target: t, Desired: machineset.Desired{
		Claim: taint.Claim{
			Owner: m.ID.ValueString(), Generation: own.Generation, Seal: own.HeldSeal(), Imported: own.Imported,
			Taints: taints, Adopt: m.OnConflict.ValueString() == tfschema.OnConflictAdopt,
		},
		Rollout: rollout,
	}}, true
}

// Released returns the entries of the state.
func (m model) Released(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	desired, known := m.Desired(ctx, own, diags)
	desired.Claim.Release = true
	return desired.retire(desired), known
}

// retire adds what a state had and what is wanted does not: tolerations may have been kept for it.
func (w wanted) retire(state wanted) wanted {
	for _, id := range state.Claim.IDs() {
		if !slices.Contains(w.Claim.IDs(), id) || w.Claim.Release {
			w.retired = append(w.retired, id)
		}
	}
	return w
}

// named returns the taints that configuration or state name.
func (w wanted) named() []taint.ID { return slices.Concat(w.Claim.IDs(), w.retired) }

// Planned returns the model in the words of the state, in sync after an apply. How machines differ that are left as
// they are is not known once something changes.
func (m model) Planned(ctx context.Context, state *model, own ownership, diags *diag.Diagnostics) model {
	var before wanted
	if state != nil {
		m.Taints = tfschema.KeepTaints(ctx, m.Taints, state.Taints)
		var ignored diag.Diagnostics
		had, _ := state.targets(&ignored)
		if now, known := m.targets(&ignored); known && now.Selector != nil && had.Selector != nil && now.String() == had.String() {
			m.Selector = state.Selector
		}
		before, _ = state.Desired(ctx, own, diags)
	}
	desired, known := m.Desired(ctx, own, diags)
	m.Machines, m.RolloutState = types.MapUnknown(types.StringType), types.StringValue(stateComplete)
	switch {
	case !known:
	case desired.Rollout.Strategy != machineset.TemplateOnly:
		m.Machines = noMachines()
	case state != nil && settled(*state, before, own) && desired.asksTheSame(before):
		// Nothing is written: it can be for other limits or timeouts alone.
		m.Machines = state.Machines
	}
	return m
}

// asksTheSame reports that machines are asked for no more and no less.
func (w wanted) asksTheSame(before wanted) bool {
	return w.target.String() == before.target.String() && w.Rollout.Strategy == before.Rollout.Strategy && slices.Equal(w.Claim.Taints, before.Claim.Taints)
}

// settled reports that a state asks for nothing: no template differs and no machine, or
// those machines that do are left as they are.
func settled(state model, desired wanted, own ownership) bool {
	return state.RolloutState.ValueString() != stateInterrupted && !own.Drifted &&
		(len(state.Machines.Elements()) == 0 || desired.Rollout.Strategy == machineset.TemplateOnly)
}

// NewID returns the id of a create, which has its entries.
func (m model) NewID(ctx context.Context, owner string) string {
	desired, known := m.Desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	var ids []string
	for _, id := range desired.Claim.IDs() {
		ids = append(ids, id.String())
	}
	return strings.Join([]string{owner, name, desired.target.String(), strings.Join(ids, ",")}, "/")
}

// Identity is what an import block by identity names.
func (m model) Identity(ctx context.Context, diags *diag.Diagnostics) any {
	desired, _ := m.Desired(ctx, ownership{}, diags)
	return identity{Namespace: types.StringValue(desired.target.Namespace), Name: m.Name, Selector: m.Selector, Taints: managed.TaintIDs(ctx, desired.Claim.Taints, diags)}
}
