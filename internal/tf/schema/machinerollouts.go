// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// Conditions that scale_to_zero waits for before it scales up again.
const (
	WaitMarkedDeleted = "marked_deleted"
	WaitRemoved       = "removed"
)

// RolloutModel is the rollout block of what replaces machines.
type RolloutModel struct {
	Strategy       types.String `tfsdk:"strategy"`
	MaxUnavailable WholeNumber  `tfsdk:"max_unavailable"`
	MaxSurge       WholeNumber  `tfsdk:"max_surge"`
	WaitFor        types.String `tfsdk:"wait_for"`
}

// RolloutType is the type of the rollout block.
var RolloutType = map[string]attr.Type{"strategy": types.StringType, "max_unavailable": WholeNumberType{}, "max_surge": WholeNumberType{}, "wait_for": types.StringType}

// ImportedRollout is that of an import, until the configuration says otherwise: an
// import must replace no machine.
func ImportedRollout() types.Object {
	return types.ObjectValueMust(RolloutType, map[string]attr.Value{
		"strategy": types.StringValue(string(machineset.TemplateOnly)), "max_unavailable": WholeNull(), "max_surge": WholeNull(), "wait_for": types.StringNull(),
	})
}

// RolloutAttribute is the rollout block of a resource.
func RolloutAttribute(description string) schema.Attribute {
	return schema.SingleNestedAttribute{
		Required:            true,
		MarkdownDescription: description,
		Attributes: map[string]schema.Attribute{
			"strategy": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: StrategyDescription,
				Validators:          []validator.String{stringvalidator.OneOf(Strategies...)},
			},
			"max_unavailable": schema.Int64Attribute{
				CustomType:          WholeNumberType{},
				Optional:            true,
				MarkdownDescription: MaxUnavailableDescription,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"max_surge": schema.Int64Attribute{
				CustomType:          WholeNumberType{},
				Optional:            true,
				MarkdownDescription: MaxSurgeDescription,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"wait_for": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: WaitForDescription,
				Validators:          []validator.String{stringvalidator.OneOf(WaitMarkedDeleted, WaitRemoved)},
			},
		},
	}
}

// RolloutOf reads a rollout block; false while any of it is not known.
func RolloutOf(ctx context.Context, from types.Object, diags *diag.Diagnostics) (machineset.Rollout, bool) {
	if from.IsUnknown() || from.IsNull() {
		return machineset.Rollout{}, false
	}
	var block RolloutModel
	diags.Append(from.As(ctx, &block, basetypes.ObjectAsOptions{})...)
	if block.Strategy.IsUnknown() || block.MaxUnavailable.IsUnknown() || block.MaxSurge.IsUnknown() || block.WaitFor.IsUnknown() || diags.HasError() {
		return machineset.Rollout{}, false
	}
	return machineset.Rollout{
		Strategy:       machineset.Strategy(block.Strategy.ValueString()),
		MaxUnavailable: int(max(block.MaxUnavailable.ValueInt64(), 1)),
		MaxSurge:       int(max(block.MaxSurge.ValueInt64(), 1)),
		Removed:        block.WaitFor.ValueString() == WaitRemoved,
	}, true
}

// RefuseRolloutParameters refuses parameters that the strategy of the rollout block at
// a path does not look at.
func RefuseRolloutParameters(ctx context.Context, at path.Path, from types.Object, diags *diag.Diagnostics) {
	if from.IsUnknown() || from.IsNull() {
		return
	}
	var block RolloutModel
	diags.Append(from.As(ctx, &block, basetypes.ObjectAsOptions{})...)
	if block.Strategy.IsUnknown() || diags.HasError() {
		return
	}
	for _, p := range []struct {
		name     string
		value    attr.Value
		strategy machineset.Strategy
	}{
		{"max_unavailable", block.MaxUnavailable, machineset.Rolling},
		{"max_surge", block.MaxSurge, machineset.Surge},
		{"wait_for", block.WaitFor, machineset.ScaleToZero},
	} {
		if !p.value.IsNull() && block.Strategy.ValueString() != string(p.strategy) {
			diags.AddAttributeError(at.AtName(p.name), "Unable to use "+p.name+" with the strategy "+block.Strategy.ValueString(),
				"It is only for the strategy "+string(p.strategy)+". Leave it out, or choose that strategy.")
		}
	}
}
