// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
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

// ownership is what the resource remembers beside its state, change what a plan or an apply is about, and applied
// what an apply has left.
type (
	ownership = managed.Ownership[taint.ID]
	change    = managed.Operation[model, planner.NodeTaints, taint.ID]
	applied   = managed.Applied[model]
)

// defaultTimeout leaves a new machine time to join the cluster.
const defaultTimeout = 10 * time.Minute

// Title names what is read.
func (m model) Title(context.Context) string { return "the nodes of \"" + m.ID.ValueString() + "\"" }

// Links is the value of tolerated_by.
func (m model) Links() types.Set { return m.ToleratedBy }

// Timeout returns how long a change may take, the wait for a node included.
func (m model) Timeout(ctx context.Context, verb string, diags *diag.Diagnostics) time.Duration {
	return tfschema.Timeout(ctx, m.Timeouts, verb, defaultTimeout, diags)
}

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// noNodes is the value of nodes when in sync.
func noNodes() types.Map {
	return types.MapValueMust(types.StringType, nil)
}

// target returns which nodes are meant; false while that is not known.
func (m model) target(diags *diag.Diagnostics) (planner.Target, bool) {
	return session.NodeTarget(m.NodeName, m.NodeSelector, diags)
}

// Desired returns what the model wants and what it may call its own; false
// while any of it is not known.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (planner.NodeTaints, bool) {
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

// Released returns the entries of the state. Of what a moved block brought, none may be the resource's.
func (m model) Released(ctx context.Context, own ownership, diags *diag.Diagnostics) (planner.NodeTaints, bool) {
	desired, known := m.Desired(ctx, own, diags)
	if desired.Claim.Release = true; own.Moved {
		desired.Claim.Imported = nil
	}
	return desired, known
}

// Planned returns the model in sync, in the words of the state: an empty value and none, or a selector
// written differently. Terraform allows a provider to keep such a prior value.
func (m model) Planned(ctx context.Context, state *model, _ ownership, _ *diag.Diagnostics) model {
	m.Nodes = noNodes()
	if state == nil {
		return m
	}
	m.Taints = tfschema.KeepTaints(ctx, m.Taints, state.Taints)
	var ignored diag.Diagnostics
	wanted, _ := m.target(&ignored)
	had, _ := state.target(&ignored)
	if wanted.Selector != nil && had.Selector != nil && wanted.String() == had.String() {
		m.NodeSelector = state.NodeSelector
	}
	return m
}

// Identity is what an import block by identity names.
func (m model) Identity(ctx context.Context, diags *diag.Diagnostics) any {
	desired, _ := m.Desired(ctx, ownership{}, diags)
	return identity{Target: types.StringValue(desired.Target.String()), Taints: managed.TaintIDs(ctx, desired.Claim.Taints, diags)}
}

// NewID returns the id of a create, which has its entries.
func (m model) NewID(ctx context.Context, owner string) string {
	desired, known := m.Desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	var ids []string
	for _, t := range desired.Claim.Taints {
		ids = append(ids, taint.IDOf(t).String())
	}
	for _, id := range desired.Claim.Absent {
		ids = append(ids, "!"+id.String())
	}
	return strings.Join([]string{owner, name, desired.Target.String(), strings.Join(ids, ",")}, "/")
}

// words are how the steps of a change are worded.
func words(desired planner.NodeTaints, limits message.Limits) session.StepWords {
	verbs, preposition := map[bool]string{false: "apply", true: "Applying"}, "to"
	if desired.Claim.Release {
		verbs, preposition = map[bool]string{false: "restore", true: "Restoring"}, "on"
	}
	return session.StepWords{Limits: limits, Rescue: path.Root("tolerated_by"), About: func(doing bool, steps []planner.Step) message.Subject {
		return message.About(verbs[doing], preposition, desired.Target, steps[0].Nodes)
	}}
}
