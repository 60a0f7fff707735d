// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TolerationModel is a toleration object.
type TolerationModel struct {
	Key               types.String `tfsdk:"key"`
	Operator          types.String `tfsdk:"operator"`
	Value             types.String `tfsdk:"value"`
	Effect            types.String `tfsdk:"effect"`
	TolerationSeconds WholeNumber  `tfsdk:"toleration_seconds"`
}

// TolerationType is the type of the object.
var TolerationType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"key": types.StringType, "operator": types.StringType, "value": types.StringType,
	"effect": types.StringType, "toleration_seconds": WholeNumberType{},
}}

// Descriptions of the toleration object, shared by all schemas.
const (
	TolerationKeyDescription      = "Key of tolerated taints. Default: every key, which needs `operator = \"Exists\"`."
	TolerationOperatorDescription = "How values compare: `Equal` (default), `Exists` (any value), `Lt` or `Gt` (need a feature gate)."
	TolerationValueDescription    = "Value of tolerated taints. Not with `Exists`."
	TolerationEffectDescription   = "Effect of tolerated taints: `NoSchedule`, `PreferNoSchedule` or `NoExecute`. Default: every effect."
	TolerationSecondsDescription  = "How many seconds a `NoExecute` taint is tolerated. Default: forever; `0` or less evicts immediately."
)

// TolerationAttributes are the attributes of a toleration object in a resource.
func TolerationAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":                schema.StringAttribute{Optional: true, MarkdownDescription: TolerationKeyDescription},
		"operator":           schema.StringAttribute{Optional: true, MarkdownDescription: TolerationOperatorDescription},
		"value":              schema.StringAttribute{Optional: true, MarkdownDescription: TolerationValueDescription},
		"effect":             schema.StringAttribute{Optional: true, MarkdownDescription: TolerationEffectDescription},
		"toleration_seconds": schema.Int64Attribute{CustomType: WholeNumberType{}, Optional: true, MarkdownDescription: TolerationSecondsDescription},
	}
}

// objectAsIs reads objects whose attributes are all of framework types.
var objectAsIs = basetypes.ObjectAsOptions{}

// known reports whether every part of the toleration is known. Seconds that are not whole are
// rejected by their own type.
func (m TolerationModel) known() bool {
	return m.TolerationSeconds.written == nil && !m.Key.IsUnknown() && !m.Operator.IsUnknown() && !m.Value.IsUnknown() && !m.Effect.IsUnknown() && !m.TolerationSeconds.IsUnknown()
}

func (m TolerationModel) toleration() corev1.Toleration {
	t := corev1.Toleration{
		Key: m.Key.ValueString(), Operator: corev1.TolerationOperator(m.Operator.ValueString()), Value: m.Value.ValueString(),
		Effect: corev1.TaintEffect(m.Effect.ValueString()), TolerationSeconds: m.TolerationSeconds.ValueInt64Pointer(),
	}
	if t.Operator == "" {
		t.Operator = corev1.TolerationOpEqual
	}
	return t
}

// Tolerations reads a set of toleration objects. known is false where any part
// of it is not known yet; the result is then empty.
func Tolerations(ctx context.Context, set types.Set, diags *diag.Diagnostics) (tolerations []corev1.Toleration, known bool) {
	var models []TolerationModel
	if !elements(ctx, set, &models, diags) {
		return nil, false
	}
	for _, m := range models {
		if !m.known() {
			return nil, false
		}
		tolerations = append(tolerations, m.toleration())
	}
	return toleration.Sort(tolerations), true
}

// elements decodes a set of objects, unless it or an object is unknown.
func elements(ctx context.Context, set types.Set, into any, diags *diag.Diagnostics) bool {
	if set.IsUnknown() {
		return false
	}
	for _, e := range set.Elements() {
		if e.IsUnknown() {
			return false
		}
	}
	if set.IsNull() {
		return true
	}
	found := set.ElementsAs(ctx, into, false)
	diags.Append(found...)
	return !found.HasError()
}

// TolerationSet makes a set of toleration objects; what is empty is null, and so
// is the operator Equal.
func TolerationSet(ctx context.Context, tolerations []corev1.Toleration, diags *diag.Diagnostics) types.Set {
	models := make([]TolerationModel, len(tolerations))
	for i, t := range tolerations {
		models[i] = TolerationModel{
			Key: OrNull(t.Key), Value: OrNull(t.Value), Effect: OrNull(string(t.Effect)), TolerationSeconds: WholeOrNull(t.TolerationSeconds),
		}
		if t.Operator != corev1.TolerationOpEqual {
			models[i].Operator = OrNull(string(t.Operator))
		}
	}
	set, found := types.SetValueFrom(ctx, TolerationType, models)
	diags.Append(found...)
	return set
}

// SomeTolerations makes such a set of an optional attribute; an empty one is null.
func SomeTolerations(ctx context.Context, tolerations []corev1.Toleration, diags *diag.Diagnostics) types.Set {
	if len(tolerations) == 0 {
		return types.SetNull(TolerationType)
	}
	return TolerationSet(ctx, tolerations, diags)
}

// OrNull makes a string; an empty one is null.
func OrNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}

// ValidToleration checks one toleration object by Kubernetes' rules, at the
// attribute that breaks one. A toleration of which a part is not known yet is
// left to the plan.
func ValidToleration() validator.Object { return validToleration{} }

type validToleration struct{}

// Description reports what is allowed.
func (validToleration) Description(context.Context) string {
	return "must be a toleration that Kubernetes accepts"
}

// MarkdownDescription reports what is allowed.
func (v validToleration) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// inList returns " in " and the attribute with the toleration where it has another name than most: a
// resource can have two lists.
func inList(at path.Path) string {
	if name := at.Steps(); len(name) > 0 && name[0].String() != "tolerations" {
		return " in " + name[0].String()
	}
	return ""
}

// ValidateObject adds an error for each rule that is broken.
func (validToleration) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	var m TolerationModel
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() || req.ConfigValue.As(ctx, &m, objectAsIs).HasError() || !m.known() {
		return
	}
	problems := taint.ValidateToleration(m.toleration())
	if len(problems) == 0 && !m.Key.IsNull() && m.Operator.IsNull() && m.Value.IsNull() {
		resp.Diagnostics.AddAttributeWarning(req.Path, fmt.Sprintf("Toleration %q%s%s tolerates only taints with an empty value", taint.FormatToleration(m.toleration()), inList(req.Path), ofWhat(ctx, req.Config)),
			"It has a key, but neither operator nor value, and the default operator is Equal. To tolerate every value, set operator = \"Exists\". To tolerate one value, set value. "+
				"If the configuration sets them, check the spelling: Terraform ignores unknown attributes of nested objects. They are key, operator, value, effect and toleration_seconds.")
	}
	for _, p := range problems {
		resp.Diagnostics.AddAttributeError(req.Path.AtName(p.Field), fmt.Sprintf("Unable to use toleration %q", taint.FormatToleration(m.toleration())),
			"The "+p.Field+" "+p.Message+".")
	}
}

// UniqueTolerations checks that no two tolerations of a set are the same but for
// their seconds: only the first of them in the list would ever decide.
func UniqueTolerations() validator.Set { return uniqueTolerations{} }

type uniqueTolerations struct{}

// Description reports what is allowed.
func (uniqueTolerations) Description(context.Context) string {
	return "each key, operator, value and effect must be unique"
}

// MarkdownDescription reports what is allowed.
func (u uniqueTolerations) MarkdownDescription(ctx context.Context) string { return u.Description(ctx) }

// ValidateSet adds an error at the set for each toleration that it holds twice.
func (uniqueTolerations) ValidateSet(ctx context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	var diags diag.Diagnostics
	tolerations, known := Tolerations(ctx, req.ConfigValue, &diags)
	if !known {
		return
	}
	seen := map[toleration.ID]int{}
	for _, t := range tolerations {
		id := toleration.IDOf(t)
		seen[id]++
		if seen[id] == 2 {
			t.TolerationSeconds = nil
			resp.Diagnostics.AddAttributeError(req.Path, fmt.Sprintf("Unable to use toleration %q twice in %s", taint.FormatToleration(t), req.Path),
				fmt.Sprintf("%s has it more than once, with different toleration_seconds. The first match in a pod's list decides: keep one of them.", req.Path))
		}
	}
}

// Named names an object whose name may not be known yet.
func Named(kind string, name types.String) string {
	if name.IsUnknown() || name.IsNull() {
		return "a " + kind
	}
	return fmt.Sprintf("%s %q", kind, name.ValueString())
}

// WarnKeyless warns of tolerations that tolerate every taint, forever. Whose they are is
// in the summary, such as: Deployment "shop/web".
func WarnKeyless(ctx context.Context, whose string, set types.Set, at path.Path, diags *diag.Diagnostics) {
	tolerations, _ := Tolerations(ctx, set, diags)
	for _, t := range tolerations {
		if t.Key == "" && t.Operator == corev1.TolerationOpExists && t.TolerationSeconds == nil && len(taint.ValidateToleration(t)) == 0 {
			every := "taint"
			if t.Effect != "" {
				every = string(t.Effect) + " taint"
			}
			diags.AddAttributeWarning(at, "A toleration of "+whose+" has no key and tolerates every "+every,
				"Pods with it are scheduled on nodes, or stay on nodes, that are unreachable, short of memory or being shut down. No taint of yours keeps them away. Name the key of the taint. If the configuration does, check the spelling of \"key\": Terraform ignores unknown attributes of nested objects.")
		}
	}
}

// Keyless is a validator of a list that does so. Its object is of a kind, and named by an attribute.
func Keyless(kind, attribute string) validator.Set { return keyless{kind, attribute} }

type keyless struct{ kind, attribute string }

// Description reports what is expected.
func (keyless) Description(context.Context) string { return "tolerations should have a key" }

// MarkdownDescription reports what is expected.
func (k keyless) MarkdownDescription(ctx context.Context) string { return k.Description(ctx) }

// ValidateSet adds a warning at the list for each toleration that has none.
func (k keyless) ValidateSet(ctx context.Context, req validator.SetRequest, resp *validator.SetResponse) {
	var name types.String
	resp.Diagnostics.Append(req.Config.GetAttribute(ctx, path.Root(k.attribute), &name)...)
	WarnKeyless(ctx, Named(k.kind, name), req.ConfigValue, req.Path, &resp.Diagnostics)
}
