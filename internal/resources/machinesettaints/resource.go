// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

var (
	_ resource.ResourceWithConfigure        = (*machineSetTaints)(nil)
	_ resource.ResourceWithConfigValidators = (*machineSetTaints)(nil)
	_ resource.ResourceWithValidateConfig   = (*machineSetTaints)(nil)
	_ resource.ResourceWithModifyPlan       = (*machineSetTaints)(nil)
	_ resource.ResourceWithImportState      = (*machineSetTaints)(nil)
	_ resource.ResourceWithIdentity         = (*machineSetTaints)(nil)
)

// defaultTimeout leaves machines their time: a drain that was refused is tried again
// after ten minutes at worst, and a machine takes as long to come.
const defaultTimeout = 60 * time.Minute

// name is that of the resource.
const name = "machine_set_taints"

type machineSetTaints struct {
	managed.Skeleton[model, wanted, []machineset.Observed, taint.ID]
}

// NewResource returns the resource.
func NewResource() resource.Resource { return newMachineSetTaints() }

// newMachineSetTaints returns the resource, which is the list resource as well. Its identity changes with its taints.
func newMachineSetTaints() *machineSetTaints {
	r := &machineSetTaints{}
	r.Type, r.Name, r.IdentityChanges = r, name, true
	return r
}

// ConfigValidators reports which attributes go together.
func (r *machineSetTaints) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("name"), path.MatchRoot("selector"))}
}

// ValidateConfig refuses reserved taints, and parameters of another strategy.
func (r *machineSetTaints) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Config.Raw, req.Config.Schema, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	message.RefuseReserved("taints", config.Taints, &resp.Diagnostics)
	where := "MachineSets"
	if target, known := config.targets(&diag.Diagnostics{}); known {
		where = target.Place()
	}
	message.WarnSystemKeys("taints", where, config.Taints, &resp.Diagnostics)
	tfschema.RefuseRolloutParameters(ctx, path.Root("rollout"), config.Rollout, &resp.Diagnostics)
}
