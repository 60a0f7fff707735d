// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// MachineSetsModel is the object machine_sets: which MachineSets, and how what changes in
// their templates reaches their machines.
type MachineSetsModel struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Selector  types.String `tfsdk:"selector"`
	Rollout   types.Object `tfsdk:"rollout"`
}

// MachineSetsOf reads the object; false where there is none, or while it is not known.
func MachineSetsOf(ctx context.Context, from types.Object, diags *diag.Diagnostics) (in MachineSetsModel, there bool) {
	if from.IsNull() || from.IsUnknown() {
		return in, false
	}
	diags.Append(from.As(ctx, &in, basetypes.ObjectAsOptions{})...)
	return in, !diags.HasError()
}

// Target reports which MachineSets are meant; false while that is not known.
func (m MachineSetsModel) Target(diags *diag.Diagnostics) (machineset.Target, bool) {
	return MachineSetTarget(m.Namespace, m.Name, m.Selector, path.Root("machine_sets").AtName("selector"), diags)
}

// MachineSetTarget reads which MachineSets are meant; false while that is not known. The
// path is that of the selector.
func MachineSetTarget(namespace, name, selector types.String, at path.Path, diags *diag.Diagnostics) (machineset.Target, bool) {
	if namespace.IsUnknown() || name.IsUnknown() || selector.IsUnknown() {
		return machineset.Target{}, false
	}
	t := machineset.Target{Namespace: cmp.Or(namespace.ValueString(), message.MachineAPINamespace), Name: name.ValueString()}
	if selector.IsNull() {
		return t, t.Name != ""
	}
	parsed, err := labels.Parse(selector.ValueString())
	if err != nil {
		diags.Append(NoSelector(at, selector.ValueString(), err))
		return t, false
	}
	t.Selector = parsed
	return t, true
}
