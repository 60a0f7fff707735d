// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

// ExplainMachines words why a rollout of machines ended before its end; goesOn names
// how it can go on where no more than another run is needed for that.
func ExplainMachines(summary, goesOn string, err error) diag.Diagnostic {
	late, stopped, gone := new(rollout.MachinesError), new(rollout.StoppedError), new(rollout.SetGoneError)
	if zero := new(rollout.AtZeroError); errors.As(err, &zero) {
		summary += fmt.Sprintf(": %s is left with 0 of %s", zero.Set.Title(), Count(zero.Replicas, "replica"))
	}
	switch {
	case errors.As(err, &late):
		return diag.NewErrorDiagnostic(summary+": "+Ended("the rollout", late.Err), paragraphs(explainLate(late), goesOn, "Original error: "+late.Err.Error()))
	case errors.As(err, &stopped):
		if said := ExplainRecord(err, stopped.Thing, "", path.Empty()); said != nil {
			return said
		}
		return diag.NewErrorDiagnostic(summary, paragraphs(stopped.Why, restored(err)))
	case errors.As(err, &gone) && gone.Recreated:
		return diag.NewErrorDiagnostic(summary, gone.Error()+". What was written to the old one is gone with it. Plan and apply again.")
	case errors.As(err, &gone):
		return diag.NewErrorDiagnostic(summary, gone.Error()+". If it was deleted, what was written to it is gone with it. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A), then plan and apply again.")
	case errors.Is(err, context.Canceled):
		summary += ": " + Ended("", err)
		return diag.NewErrorDiagnostic(summary, paragraphs(restored(err), goesOn, "Original error: "+err.Error()))
	}
	return diag.NewErrorDiagnostic(summary, paragraphs(Advise(err), restored(err), goesOn, "Original error: "+err.Error()))
}

// paragraphs joins what is not empty.
func paragraphs(all ...string) string {
	return strings.Join(slices.DeleteFunc(all, func(one string) bool { return one == "" }), "\n\n")
}

// restored reports that a count has been brought back, or what to do where that failed; ""
// where none had to be. The command writes the subresource scale, which webhooks do not see.
func restored(err error) string {
	if zero := new(rollout.AtZeroError); errors.As(err, &zero) {
		return fmt.Sprintf("spec.replicas could not be restored. Set it yourself: kubectl scale machineset.machine.openshift.io %s -n %s --replicas=%d", zero.Set.Name, zero.Set.Namespace, zero.Replicas)
	}
	if back := new(rollout.RestoredError); errors.As(err, &back) {
		return fmt.Sprintf("spec.replicas has been restored to %d.", back.Replicas)
	}
	return ""
}

// Ended reports how something ended that did not come to its end.
func Ended(what string, err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return what + " timed out"
	}
	return "the run was interrupted"
}

// explainLate reports what a rollout waited for, what to do about that, and how far it is.
func explainLate(e *rollout.MachinesError) string {
	waiting, fix := waitedFor(e)
	holds := ""
	if len(e.Holds) > 0 {
		holds = "What blocks the deletion of machines:\n  " + strings.Join(e.Holds, "\n  ")
		fix = "To fix this, allow the evictions (scale their workload up, or relax the PodDisruptionBudget) and remove a stuck lifecycle hook; or set a longer timeout."
	}
	if !errors.Is(e.Err, context.DeadlineExceeded) {
		// Nothing is wrong with a run that a user has stopped.
		fix = ""
	}
	return paragraphs(waiting, holds, fix, standing(e))
}

// waitedFor reports what a rollout waited for, and what to do about that; "" and "" for
// nothing.
func waitedFor(e *rollout.MachinesError) (waiting, fix string) {
	if len(e.Waiting) == 0 {
		return "", ""
	}
	last := ":\n  " + strings.Join(e.Waiting, "\n  ")
	if !e.Controller {
		return "The rollout last waited for machines" + last, "To fix this, find out why these machines are not ready (kubectl describe machine.machine.openshift.io NAME -n " + e.Set.Namespace + "); or set a longer timeout."
	}
	fix = "To fix this, find out what stops it (kubectl describe machineset.machine.openshift.io " + e.Set.Name + " -n " + e.Set.Namespace + " shows its events); or set a longer timeout."
	if e.Set.Namespace != machineset.OperatorNamespace {
		fix += " OpenShift's Machine API operator has its controllers watch the namespace " + machineset.OperatorNamespace + " alone."
	}
	return "The rollout last waited for the controller of " + e.Set.Title() + last, fix
}

// standing reports how far a rollout is, and which count it has left.
func standing(e *rollout.MachinesError) string {
	m := e.Set.Marker
	if m == nil {
		if e.Begun {
			return ""
		}
		return "This run has written nothing to " + e.Set.Title() + "."
	}
	done, have := "replaced", "have"
	if m.Strategy == machineset.InPlace {
		done = "changed"
	}
	if e.Left == 1 {
		have = "has"
	}
	left := fmt.Sprintf("%d of %s still %s to be %s", e.Left, Count(m.OriginalReplicas, "machine"), have, done)
	if e.Left == 0 {
		left = "No old machine is left"
	}
	replicas := fmt.Sprintf("is %d", e.Set.Replicas)
	switch {
	case e.Restored:
		replicas = fmt.Sprintf("has been restored to %d", m.OriginalReplicas)
	case e.Set.Replicas != m.OriginalReplicas:
		replicas += fmt.Sprintf(" (%d before the rollout)", m.OriginalReplicas)
	}
	return left + ", and spec.replicas " + replicas + "."
}
