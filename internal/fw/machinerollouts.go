// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"errors"
	"strings"

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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// What scale_to_zero waits for before it scales back.
const (
	WaitMarkedDeleted = "marked_deleted"
	WaitRemoved       = "removed"
)

// RolloutModel is the rollout block of what replaces machines.
type RolloutModel struct {
	Strategy       types.String `tfsdk:"strategy"`
	MaxUnavailable types.Int64  `tfsdk:"max_unavailable"`
	MaxSurge       types.Int64  `tfsdk:"max_surge"`
	WaitFor        types.String `tfsdk:"wait_for"`
}

// RolloutType is the type of the rollout block.
var RolloutType = map[string]attr.Type{"strategy": types.StringType, "max_unavailable": types.Int64Type, "max_surge": types.Int64Type, "wait_for": types.StringType}

// ImportedRollout is that of an import, until the configuration says otherwise: an
// import must replace no machine.
func ImportedRollout() types.Object {
	return types.ObjectValueMust(RolloutType, map[string]attr.Value{
		"strategy": types.StringValue(string(machineset.TemplateOnly)), "max_unavailable": types.Int64Null(), "max_surge": types.Int64Null(), "wait_for": types.StringNull(),
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
				Optional:            true,
				MarkdownDescription: MaxUnavailableDescription,
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"max_surge": schema.Int64Attribute{
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
				"It belongs to the strategy "+string(p.strategy)+". Leave it out, or choose that strategy.")
		}
	}
}

// ExplainMachines words why a rollout of machines ended before its end; goesOn says
// how it can go on.
func ExplainMachines(summary, goesOn string, err error) diag.Diagnostic {
	detail := goesOn
	late, stopped, gone := new(rollout.MachinesError), new(rollout.StoppedError), new(rollout.SetGoneError)
	switch {
	case errors.As(err, &late):
		summary += ": " + Ended(late.Err)
		detail = strings.TrimLeft(explainLate(late)+"\n\n"+goesOn, "\n")
	case errors.As(err, &stopped):
		detail = "The rollout does not go on by itself: " + stopped.Why + ".\n\n" + goesOn
	case errors.Is(err, context.Canceled):
		summary += ": " + Ended(err)
	case errors.As(err, &gone):
		detail = "Plan again: what is there then decides."
	default:
		if advice := Advise(err); advice != "" {
			detail = advice + "\n\n" + goesOn
		}
	}
	return diag.NewErrorDiagnostic(summary, detail+"\n\nOriginal error: "+err.Error())
}

// Ended says how a wait ended that did not come to its end.
func Ended(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "the time is over"
	}
	return "it was interrupted"
}

// explainLate says what a rollout waited for, and what was done about its count.
func explainLate(e *rollout.MachinesError) string {
	var b strings.Builder
	if len(e.Waiting) > 0 {
		b.WriteString("It waited for machines:\n  " + strings.Join(e.Waiting, "\n  "))
	}
	if len(e.Holds) > 0 {
		b.WriteString("\n\nWhat holds them:\n  " + strings.Join(e.Holds, "\n  "))
	}
	if e.Restored {
		b.WriteString("\n\nspec.replicas has been set back to what it was.")
	}
	return b.String()
}
