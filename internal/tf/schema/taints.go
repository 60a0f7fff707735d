// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TaintModel is a taint object.
type TaintModel struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
}

// AbsentModel is the identity of a taint that must not be there.
type AbsentModel struct {
	Key    types.String `tfsdk:"key"`
	Effect types.String `tfsdk:"effect"`
}

// TaintType and AbsentType are the types of the two objects.
var (
	TaintType  = types.ObjectType{AttrTypes: map[string]attr.Type{"key": types.StringType, "value": types.StringType, "effect": types.StringType}}
	AbsentType = types.ObjectType{AttrTypes: map[string]attr.Type{"key": types.StringType, "effect": types.StringType}}
)

// Descriptions of the taint object, shared by all schemas.
const (
	KeyDescription    = "Key of the taint, such as `example.com/dedicated`."
	ValueDescription  = "Value of the taint. Default: empty."
	EffectDescription = "Effect of the taint: `NoSchedule`, `PreferNoSchedule` or `NoExecute`."
)

// KeyValidators are Kubernetes' rules for keys.
func KeyValidators() []validator.String {
	return []validator.String{taintPart("key", "must be a qualified name, such as example.com/dedicated", func(s string) corev1.Taint {
		return corev1.Taint{Key: s, Effect: corev1.TaintEffectNoSchedule}
	})}
}

// ValueValidators are Kubernetes' rules for values.
func ValueValidators() []validator.String {
	return []validator.String{taintPart("value", "must be a label value: at most 63 letters, digits, -, _ and .", func(s string) corev1.Taint {
		return corev1.Taint{Key: "k", Value: s, Effect: corev1.TaintEffectNoSchedule}
	})}
}

// EffectValidators are Kubernetes' rules for effects.
func EffectValidators() []validator.String {
	all := strings.Join(taint.Effects(), ", ")
	return []validator.String{check{description: "must be one of " + all, complete: true, find: func(s string) string {
		if slices.Contains(taint.Effects(), s) {
			return ""
		}
		return "Use one of " + all + "."
	}}}
}

// taintPart validates one field by the rules for a whole taint, so that there
// is one source of them.
func taintPart(field, description string, with func(string) corev1.Taint) validator.String {
	return check{description: description, find: func(s string) string {
		for _, p := range taint.Validate(with(s)) {
			if p.Field == field {
				return "The " + field + " " + p.Message + "."
			}
		}
		return ""
	}}
}

// Taints reads a set of taint objects. known is false where any part of it is
// not known yet; the result is then empty.
func Taints(ctx context.Context, set types.Set, diags *diag.Diagnostics) (taints []corev1.Taint, known bool) {
	known = objects(ctx, set, &[]TaintModel{}, diags, func(of func(name string) string) {
		taints = append(taints, corev1.Taint{Key: of("key"), Value: of("value"), Effect: corev1.TaintEffect(of("effect"))})
	})
	return taint.Sort(taints), known
}

// Absent reads a set of identities, like Taints.
func Absent(ctx context.Context, set types.Set, diags *diag.Diagnostics) (ids []taint.ID, known bool) {
	known = objects(ctx, set, &[]AbsentModel{}, diags, func(of func(name string) string) {
		ids = append(ids, taint.ID{Key: of("key"), Effect: corev1.TaintEffect(of("effect"))})
	})
	return taint.SortIDs(ids), known
}

// objects calls do with the texts of each object of a set, unless any part of it is unknown. Each resource reads them
// several times in a plan: ElementsAs costs much more, and serves for its error where an object is null.
func objects(ctx context.Context, set types.Set, models any, diags *diag.Diagnostics, do func(of func(name string) string)) (known bool) {
	if set.IsUnknown() {
		return false
	}
	var all []map[string]attr.Value
	null := false
	for _, e := range set.Elements() {
		object, is := e.(types.Object)
		null = null || !is || object.IsNull()
		all = append(all, object.Attributes())
		if e.IsUnknown() || slices.ContainsFunc(slices.Collect(maps.Values(all[len(all)-1])), attr.Value.IsUnknown) {
			return false
		}
	}
	if null {
		diags.Append(set.ElementsAs(ctx, models, false)...)
		return false
	}
	for _, attributes := range all {
		do(func(name string) string {
			text, _ := attributes[name].(types.String)
			return text.ValueString()
		})
	}
	return true
}

// TaintSet makes a set of taint objects; an empty value is null.
func TaintSet(ctx context.Context, taints []corev1.Taint, diags *diag.Diagnostics) types.Set {
	models := make([]TaintModel, len(taints))
	for i, t := range taints {
		models[i] = TaintModel{Key: types.StringValue(t.Key), Effect: types.StringValue(string(t.Effect))}
		if t.Value != "" {
			models[i].Value = types.StringValue(t.Value)
		}
	}
	set, found := types.SetValueFrom(ctx, TaintType, models)
	diags.Append(found...)
	return set
}
