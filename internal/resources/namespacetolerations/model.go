// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
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

// entry identifies a toleration of one of the two lists.
type entry = toleration.ID

// ownership is what the resource remembers beside its state: what was imported of the list
// of defaults stands under the entry, what was of the other one in Allowed.
type ownership = managed.Ownership[entry]

var (
	defaultAt = path.Root("default")
	allowedAt = path.Root("allowed")
)

// wanted is what the model wants of a namespace.
type wanted struct {
	namespace string
	admission.ListClaim
}

// owner is the id under which entries are marked.
func (w wanted) owner() string { return w.Default.Owner }

// desired returns what the model wants and what it may call its own; false while any of it
// is not known or something is wrong.
func (m model) desired(ctx context.Context, own ownership, diags *diag.Diagnostics) (wanted, bool) {
	defaults, defaultsKnown := tfschema.Tolerations(ctx, m.Default, diags)
	allowed, allowedKnown := tfschema.Tolerations(ctx, m.Allowed, diags)
	if !defaultsKnown || !allowedKnown || m.Namespace.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	claim := toleration.Claim{Owner: m.ID.ValueString(), Generation: own.Generation, Seal: own.ListSeal(), Imported: own.Imported}.On(objectOf(m.Namespace.ValueString()))
	w := wanted{namespace: m.Namespace.ValueString(), ListClaim: admission.ListClaim{Default: claim, Allowed: claim}}
	w.Default.Tolerations, w.Allowed.Tolerations = defaults, allowed
	return w, true
}

// released is the same given up.
func (w wanted) released() wanted {
	w.Default.Release, w.Allowed.Release = true, true
	return w
}

// as is the same for the resource of another id, which adopts what carries that id, as
// a create does.
func (w wanted) as(id string) wanted {
	w.Default.Owner, w.Allowed.Owner = id, id
	w.Default.TakeOver, w.Allowed.TakeOver = true, true
	return w
}

// keepWording plans what the state holds where the configuration says the same in other
// words.
func (m *model) keepWording(ctx context.Context, state model) {
	for planned, stored := range map[*types.Set]types.Set{&m.Default: state.Default, &m.Allowed: state.Allowed} {
		var ignored diag.Diagnostics
		is, isKnown := tfschema.Tolerations(ctx, *planned, &ignored)
		was, wasKnown := tfschema.Tolerations(ctx, stored, &ignored)
		if isKnown && wasKnown && !planned.IsNull() && !stored.IsNull() && slices.EqualFunc(is, was, toleration.Equal) {
			*planned = stored
		}
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

// newID is the id of a resource that is created with these entries. It can be told at
// plan, and a create that was killed finds its own marks by it.
func newID(owner string, w wanted) string {
	list := func(tolerations []corev1.Toleration) string {
		var out []string
		for _, t := range tolerations {
			t.TolerationSeconds = nil
			out = append(out, taint.FormatToleration(t))
		}
		return strings.Join(out, ",")
	}
	return strings.Join([]string{owner, "namespace_tolerations", w.namespace, list(w.Default.Tolerations) + ";" + list(w.Allowed.Tolerations)}, "/")
}
