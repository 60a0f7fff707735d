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

// wanted is what the model wants.
type wanted struct {
	target machineset.Target
	machineset.Desired
	// known proves the tolerations that others have left for these taints.
	known []record.Seal
	// retired are the taints that were wanted before.
	retired []taint.ID
	// links are the ids that tolerated_by has for the first time.
	links []string
	// replaces is set for a replacement, which destroys first.
	replaces bool
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

// desired returns what the model wants and what it may call its own; false while
// any of it is not known.
func (m model) desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
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

// keepWording plans what the state holds where the configuration says the same in
// other words.
func (m *model) keepWording(ctx context.Context, state model) {
	m.Taints = tfschema.KeepTaints(ctx, m.Taints, state.Taints)
	var ignored diag.Diagnostics
	had, _ := state.targets(&ignored)
	if now, known := m.targets(&ignored); known && now.Selector != nil && had.Selector != nil && now.String() == had.String() {
		m.Selector = state.Selector
	}
}

// freshID returns the id that a create of the same configuration would get; none where it is
// not known.
func (m model) freshID(ctx context.Context, owner string) string {
	desired, known := m.desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	return newID(owner, desired)
}

// newID is the id of a resource that is created with these entries.
func newID(owner string, w wanted) string {
	var ids []string
	for _, id := range w.Claim.IDs() {
		ids = append(ids, id.String())
	}
	return strings.Join([]string{owner, "machine_set_taints", w.target.String(), strings.Join(ids, ",")}, "/")
}

// identityOf makes the identity from what is desired.
func identityOf(ctx context.Context, m model, w wanted, diags *diag.Diagnostics) identity {
	var ids []string
	for _, id := range w.Claim.IDs() {
		ids = append(ids, id.String())
	}
	list, found := types.ListValueFrom(ctx, types.StringType, ids)
	diags.Append(found...)
	return identity{Namespace: types.StringValue(w.target.Namespace), Name: m.Name, Selector: m.Selector, Taints: list}
}
