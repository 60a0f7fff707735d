// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset

import (
	"cmp"
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// model is the action as it is in the configuration.
type model struct {
	Namespace types.String `tfsdk:"namespace"`
	Name      types.String `tfsdk:"name"`
	Rollout   types.Object `tfsdk:"rollout"`
	Evictions types.Object `tfsdk:"evictions"`
	Timeout   types.String `tfsdk:"timeout"`
}

// wanted is what the model wants.
type wanted struct {
	target machineset.Target
	budget fw.Budget
	machineset.Desired
}

// title names the MachineSet in messages.
func (w wanted) title() string {
	return w.target.Place()
}

// wanted returns what the model wants; false while any of it is not known.
func (m model) wanted(ctx context.Context, data *fw.Data, diags *diag.Diagnostics) (wanted, bool) {
	rollout, rolloutKnown := fw.RolloutOf(ctx, m.Rollout, diags)
	budget, budgetKnown := fw.ActionBudgetOf(ctx, m.Evictions, data.Evictions, diags)
	if !rolloutKnown || !budgetKnown || m.Namespace.IsUnknown() || m.Name.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	target := machineset.Target{Namespace: cmp.Or(m.Namespace.ValueString(), fw.MachineAPINamespace), Name: m.Name.ValueString()}
	return wanted{
		target: target, budget: budget,
		// It claims no taint: the id alone says whose rollout it is.
		Desired: machineset.Desired{Claim: taint.Claim{Owner: data.Owner + "/cycle_machine_set/" + target.String()}, Rollout: rollout, Cycle: true},
	}, true
}
