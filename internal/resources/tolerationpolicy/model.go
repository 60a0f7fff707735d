// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID            types.String `tfsdk:"id"`
	Name          types.String `tfsdk:"name"`
	Match         types.Object `tfsdk:"match"`
	Tolerations   types.Set    `tfsdk:"tolerations"`
	Pin           types.Map    `tfsdk:"pin"`
	FailurePolicy types.String `tfsdk:"failure_policy"`
	Objects       types.Map    `tfsdk:"objects"`
}

// identity is what an import block by identity names.
type identity struct {
	Name types.String `tfsdk:"name"`
}

// ownership is what the resource remembers beside its state.
type ownership = managed.Ownership[string]

// change is what a plan or an apply is about, and applied what an apply has left.
type (
	change  = managed.Operation[model, admission.Claim, string]
	applied = managed.Applied[model]
)

var (
	matchAt       = path.Root("match")
	nameAt        = path.Root("name")
	tolerationsAt = path.Root("tolerations")
)

// Title names what is managed.
func (m model) Title(context.Context) string {
	return "toleration policy \"" + m.Name.ValueString() + "\""
}

// Identity is what an import block by identity names.
func (m model) Identity(context.Context, *diag.Diagnostics) any { return identity{Name: m.Name} }

// NewID returns the id of a create, which has the policy's name.
func (m model) NewID(_ context.Context, owner string) string {
	if m.Name.IsUnknown() {
		return ""
	}
	return admission.NewID(owner, m.Name.ValueString())
}

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// Desired returns what the model wants. Its name is known before the rest is.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (admission.Claim, bool) {
	out := admission.Claim{Mark: admission.Mark{Owner: m.ID.ValueString(), Generation: own.Generation}}
	out.Name = m.Name.ValueString()
	match, matchKnown := tfschema.MatchOf(ctx, m.Match, matchAt, diags)
	tolerations, known := tfschema.Tolerations(ctx, m.Tolerations, diags)
	if !known || !matchKnown || m.Name.IsUnknown() || m.Pin.IsUnknown() || m.FailurePolicy.IsUnknown() || slices.ContainsFunc(pinValues(m.Pin), attr.Value.IsUnknown) {
		return out, false
	}
	out.Match, out.Tolerations, out.Fail = match, tolerations, m.FailurePolicy.ValueString() == tfschema.FailurePolicyFail
	diags.Append(m.Pin.ElementsAs(ctx, &out.Pin, false)...)
	return out, !diags.HasError()
}

// Released returns the policy, by its name and who owns it. What is in it does not matter, which another writer may have
// made invalid.
func (m model) Released(_ context.Context, own ownership, _ *diag.Diagnostics) (admission.Claim, bool) {
	out := admission.Claim{Mark: admission.Mark{Owner: m.ID.ValueString(), Generation: own.Generation}, Release: true}
	out.Name = m.Name.ValueString()
	return out, true
}

func pinValues(pin types.Map) []attr.Value {
	var out []attr.Value
	for _, v := range pin.Elements() {
		out = append(out, v)
	}
	return out
}

// take puts into the model what a policy is, where it is not what the model says already:
// the same in other words stays as it was written.
func (m *model) take(ctx context.Context, is admission.Policy, own ownership, diags *diag.Diagnostics) {
	var ignored diag.Diagnostics
	if wants, known := m.Desired(ctx, own, &ignored); known {
		wants.Retiring = is.Retiring
		if wants.Equal(is) {
			return
		}
	}
	m.Match = tfschema.MatchObject(ctx, is.Match, diags)
	m.Tolerations = tfschema.TolerationSet(ctx, is.Tolerations, diags)
	m.Pin = types.MapNull(types.StringType)
	if len(is.Pin) > 0 {
		pin, found := types.MapValueFrom(ctx, types.StringType, is.Pin)
		diags.Append(found...)
		m.Pin = pin
	}
	m.FailurePolicy = types.StringValue(tfschema.FailurePolicyIgnore)
	if is.Fail {
		m.FailurePolicy = types.StringValue(tfschema.FailurePolicyFail)
	}
}

// Planned returns the model in sync, in the words of the state.
func (m model) Planned(ctx context.Context, state *model, _ ownership, diags *diag.Diagnostics) model {
	m.Objects = wrong(ctx, nil, diags)
	if state == nil {
		return m
	}
	m.Tolerations = tfschema.KeepTolerations(ctx, m.Tolerations, state.Tolerations)
	var ignored diag.Diagnostics
	match, matchKnown := tfschema.MatchOf(ctx, m.Match, matchAt, &ignored)
	before, beforeKnown := tfschema.MatchOf(ctx, state.Match, matchAt, &ignored)
	if matchKnown && beforeKnown && match.String() == before.String() {
		m.Match = state.Match
	}
	return m
}

// wrong is the attribute objects.
func wrong(ctx context.Context, objects map[string]string, diags *diag.Diagnostics) types.Map {
	if objects == nil {
		objects = map[string]string{}
	}
	out, found := types.MapValueFrom(ctx, types.StringType, objects)
	diags.Append(found...)
	return out
}
