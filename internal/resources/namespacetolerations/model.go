// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// model is the resource as it is in configuration, plan and state.
type model struct {
	ID        types.String `tfsdk:"id"`
	Namespace types.String `tfsdk:"namespace"`
	Default   types.Set    `tfsdk:"default"`
	Allowed   types.Set    `tfsdk:"allowed"`
}

// identity is what an import block by identity names.
type identity struct {
	Namespace types.String `tfsdk:"namespace"`
}

// ownership has what was imported of both lists.
type ownership = managed.Ownership[toleration.ID]

// change is what a plan or an apply is about, and applied what an apply has left.
type (
	change  = managed.Operation[model, admission.ListClaim, toleration.ID]
	applied = managed.Applied[model]
)

// Title names what is managed.
func (m model) Title(context.Context) string {
	return "the tolerations of namespace \"" + m.Namespace.ValueString() + "\""
}

// Identity is what an import block by identity names.
func (m model) Identity(context.Context, *diag.Diagnostics) any {
	return identity{Namespace: m.Namespace}
}

// WithID returns the model with this id.
func (m model) WithID(id string) model {
	m.ID = types.StringValue(id)
	return m
}

// Planned returns the model in the words of the state.
func (m model) Planned(ctx context.Context, state *model, _ ownership, _ *diag.Diagnostics) model {
	if state != nil {
		m.Default = tfschema.KeepTolerations(ctx, m.Default, state.Default)
		m.Allowed = tfschema.KeepTolerations(ctx, m.Allowed, state.Allowed)
	}
	return m
}

// Desired returns what the model wants, and what it may call its own.
func (m model) Desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (admission.ListClaim, bool) {
	defaults, defaultsKnown := tfschema.Tolerations(ctx, m.Default, diags)
	allowed, allowedKnown := tfschema.Tolerations(ctx, m.Allowed, diags)
	if !defaultsKnown || !allowedKnown || m.Namespace.IsUnknown() || diags.HasError() {
		return admission.ListClaim{}, false
	}
	claim := toleration.Claim{Owner: m.ID.ValueString(), Generation: own.Generation, Seal: own.ListSeal(), Imported: own.Imported}.On(objectOf(m))
	w := admission.ListClaim{Namespace: m.Namespace.ValueString(), Default: claim, Allowed: claim}
	w.Default.Tolerations, w.Allowed.Tolerations = defaults, allowed
	return w, true
}

// Released returns the entries of the state.
func (m model) Released(ctx context.Context, own ownership, diags *diag.Diagnostics) (admission.ListClaim, bool) {
	w, known := m.Desired(ctx, own, diags)
	w.Default.Release, w.Allowed.Release = true, true
	return w, known
}

// objectOf names the namespace in the proofs of its marks.
func objectOf(m model) string { return "Namespace/" + m.Namespace.ValueString() }

// NewID returns the id of a create, which has its entries.
func (m model) NewID(ctx context.Context, owner string) string {
	w, known := m.Desired(ctx, ownership{}, &diag.Diagnostics{})
	if !known {
		return ""
	}
	return idPrefix(owner, w.Namespace) + strings.Join(toleration.Notations(w.Default.Tolerations), ",") + ";" + strings.Join(toleration.Notations(w.Allowed.Tolerations), ",")
}

// idPrefix is what ids of all resources for a namespace begin with.
func idPrefix(owner, namespace string) string { return owner + "/" + name + "/" + namespace + "/" }
