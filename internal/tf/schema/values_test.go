// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/hashicorp/terraform-plugin-framework-timeouts/resource/timeouts"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

type valued struct {
	Timeouts timeouts.Value `tfsdk:"timeouts"`
	Name     types.String   `tfsdk:"name"`
	Count    types.Int64    `tfsdk:"count"`
	Taints   types.Set      `tfsdk:"taints"`
	Nodes    types.Map      `tfsdk:"nodes"`
	Limits   types.Object   `tfsdk:"limits"`
}

var (
	limitTypes = map[string]attr.Type{"max": types.Int64Type}
	taint      = types.ObjectValueMust(tfschema.TaintType.AttrTypes, map[string]attr.Value{
		"key": types.StringValue("team"), "value": types.StringUnknown(), "effect": types.StringNull(),
	})
)

func schemaOfValued(t *testing.T) schema.Schema {
	t.Helper()
	return schema.Schema{Attributes: map[string]schema.Attribute{
		"name":     schema.StringAttribute{Optional: true},
		"count":    schema.Int64Attribute{Optional: true},
		"taints":   schema.SetNestedAttribute{Optional: true, NestedObject: schema.NestedAttributeObject{Attributes: tfschema.TaintAttributes()}},
		"nodes":    schema.MapAttribute{Optional: true, ElementType: types.StringType},
		"limits":   schema.SingleNestedAttribute{Optional: true, Attributes: map[string]schema.Attribute{"max": schema.Int64Attribute{Optional: true}}},
		"timeouts": timeouts.AttributesAll(t.Context()),
	}}
}

func TestValues_areThoseOfTheFramework(t *testing.T) {
	t.Parallel()
	ctx, described := t.Context(), schemaOfValued(t)
	durations := described.Attributes["timeouts"].GetType().(timeouts.Type).AttrTypes
	null := valued{
		Taints: types.SetNull(tfschema.TaintType), Nodes: types.MapNull(types.StringType), Limits: types.ObjectNull(limitTypes),
		Timeouts: timeouts.Value{Object: types.ObjectNull(durations)},
	}
	known := valued{
		Name: types.StringValue("a"), Count: types.Int64Value(3), Taints: types.SetValueMust(tfschema.TaintType, []attr.Value{taint}),
		Nodes:  types.MapValueMust(types.StringType, map[string]attr.Value{"n1": types.StringValue("missing")}),
		Limits: types.ObjectValueMust(limitTypes, map[string]attr.Value{"max": types.Int64Null()}),
		Timeouts: timeouts.Value{Object: types.ObjectValueMust(durations, map[string]attr.Value{
			"create": types.StringValue("5m"), "read": types.StringNull(), "update": types.StringNull(), "delete": types.StringUnknown(),
		})},
	}
	unknown := null
	unknown.Name, unknown.Taints, unknown.Limits = types.StringUnknown(), types.SetUnknown(tfschema.TaintType), types.ObjectUnknown(limitTypes)
	for name, model := range map[string]valued{"null": null, "known": known, "unknown": unknown} {
		state := tfsdk.State{Schema: described, Raw: tftypes.NewValue(described.Type().TerraformType(ctx), nil)}
		if diags := state.Set(ctx, model); diags.HasError() {
			t.Fatalf("%s: %v", name, diags)
		}
		var raw tftypes.Value
		if diags := tfschema.Encode(ctx, model, described, &raw); diags.HasError() || !raw.Equal(state.Raw) {
			t.Errorf("%s: encoded as %s, and by the framework as %s: %v", name, raw, state.Raw, diags)
		}
		var ours, theirs valued
		diags := tfschema.Decode(ctx, state.Raw, described, &ours)
		diags.Append(state.Get(ctx, &theirs)...)
		if diff := cmp.Diff(theirs, ours); diff != "" || diags.HasError() {
			t.Errorf("%s: decoded in another way than by the framework: %v\n%s", name, diags, diff)
		}
	}
}

// A value of another type is an error, and leaves what was there.
func TestEncode_refusesAValueOfAnotherType(t *testing.T) {
	t.Parallel()
	before := tftypes.NewValue(tftypes.String, "before")
	raw := before
	diags := tfschema.Encode(t.Context(), valued{}, schemaOfValued(t), &raw)
	if !diags.HasError() || !strings.Contains(diags[0].Detail(), "a bug in the provider") || !raw.Equal(before) {
		t.Errorf("%v, and it is %s", diags, raw)
	}
}
