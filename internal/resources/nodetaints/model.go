// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID           types.String   `tfsdk:"id"`
	NodeName     types.String   `tfsdk:"node_name"`
	NodeSelector types.String   `tfsdk:"node_selector"`
	Taints       types.Set      `tfsdk:"taints"`
	AbsentTaints types.Set      `tfsdk:"absent_taints"`
	OnConflict   types.String   `tfsdk:"on_conflict"`
	Evictions    types.Object   `tfsdk:"evictions"`
	ToleratedBy  types.Set      `tfsdk:"tolerated_by"`
	Nodes        types.Map      `tfsdk:"nodes"`
	Timeouts     timeouts.Value `tfsdk:"timeouts"`
}

// identity is what an import block by identity names.
type identity struct {
	Target types.String `tfsdk:"target"`
	Taints types.List   `tfsdk:"taints"`
}

// noNodes is the value of nodes when in sync.
func noNodes() types.Map {
	return types.MapValueMust(types.StringType, nil)
}

// target returns which nodes are meant; false while that is not known.
func (m model) target(diags *diag.Diagnostics) (planner.Target, bool) {
	return session.NodeTarget(m.NodeName, m.NodeSelector, diags)
}

// desired returns what the model wants and what it may call its own; false
// while any of it is not known.
func (m model) desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (planner.NodeTaints, bool) {
	target, targetKnown := m.target(diags)
	taints, taintsKnown := tfschema.Taints(ctx, m.Taints, diags)
	absent, absentKnown := tfschema.Absent(ctx, m.AbsentTaints, diags)
	if !targetKnown || !taintsKnown || !absentKnown || m.OnConflict.IsUnknown() || diags.HasError() {
		return planner.NodeTaints{}, false
	}
	return planner.NodeTaints{Target: target, Claim: taint.Claim{
		Owner: m.ID.ValueString(), Generation: own.Generation, Seal: own.HeldSeal(), Imported: own.Imported,
		Taints: taints, Absent: absent, Adopt: m.OnConflict.ValueString() == tfschema.OnConflictAdopt,
	}}, true
}

// keepWording plans what the state holds where the configuration says the same
// in other words: an empty value and none, or a selector written differently.
// Terraform allows a provider to keep such a prior value.
func (m *model) keepWording(ctx context.Context, state model) {
	m.Taints = tfschema.KeepTaints(ctx, m.Taints, state.Taints)
	var ignored diag.Diagnostics
	if m.NodeSelector.IsNull() || m.NodeSelector.IsUnknown() || state.NodeSelector.IsNull() {
		return
	}
	wanted, _ := m.target(&ignored)
	had, _ := state.target(&ignored)
	if wanted.Selector != nil && had.Selector != nil && wanted.String() == had.String() {
		m.NodeSelector = state.NodeSelector
	}
}

// identityOf makes the identity from what is desired.
func identityOf(ctx context.Context, desired planner.NodeTaints, diags *diag.Diagnostics) identity {
	ids := make([]string, len(desired.Claim.Taints))
	for i, t := range desired.Claim.Taints {
		ids[i] = taint.IDOf(t).String()
	}
	list, found := types.ListValueFrom(ctx, types.StringType, ids)
	diags.Append(found...)
	return identity{Target: types.StringValue(desired.Target.String()), Taints: list}
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

// newID is the id of a resource that is created with these entries. It can be
// told at plan, and a create that was killed finds its own marks by it.
func newID(owner string, desired planner.NodeTaints) string {
	var ids []string
	for _, t := range desired.Claim.Taints {
		ids = append(ids, taint.IDOf(t).String())
	}
	for _, id := range desired.Claim.Absent {
		ids = append(ids, "!"+id.String())
	}
	return strings.Join([]string{owner, "node_taints", desired.Target.String(), strings.Join(ids, ",")}, "/")
}

// words are how the steps of a change are worded.
func words(desired planner.NodeTaints, budget message.Budget) session.StepWords {
	verbs, preposition := map[bool]string{false: "apply", true: "Applying"}, "to"
	if desired.Claim.Release {
		verbs, preposition = map[bool]string{false: "restore", true: "Restoring"}, "on"
	}
	return session.StepWords{Budget: budget, Rescue: path.Root("tolerated_by"), About: func(doing bool, steps []planner.Step) message.Subject {
		return message.About(verbs[doing], preposition, desired.Target, steps[0].Nodes)
	}}
}
