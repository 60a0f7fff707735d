// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset

import (
	"cmp"
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
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
	limits message.Limits
	machineset.Desired
	timeout time.Duration
}

// title names the MachineSet in messages.
func (w wanted) title() string {
	return w.target.Place()
}

// Desired returns what the model wants; false while any of it is not known.
func (m model) Desired(ctx context.Context, data *session.Data, diags *diag.Diagnostics) (wanted, bool) {
	rollout, rolloutKnown := tfschema.RolloutOf(ctx, m.Rollout, diags)
	limits, limitsKnown := tfschema.ActionLimitsOf(ctx, m.Evictions, data.Evictions, diags)
	if !rolloutKnown || !limitsKnown || m.Namespace.IsUnknown() || m.Name.IsUnknown() || diags.HasError() {
		return wanted{}, false
	}
	target := machineset.Target{Namespace: cmp.Or(m.Namespace.ValueString(), message.MachineAPINamespace), Name: m.Name.ValueString()}
	return wanted{
		target: target, limits: limits, timeout: tfschema.TimeoutOf(m.Timeout, defaultTimeout),
		// It claims no taint: the id alone says whose rollout it is.
		Desired: machineset.Desired{Claim: taint.Claim{Owner: data.Owner + "/cycle_machine_set/" + target.String()}, Rollout: rollout, Cycle: true},
	}, true
}
