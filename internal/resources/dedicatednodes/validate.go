// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// ValidateConfig checks what can be told without a cluster. Values that are not
// known yet are looked at again at plan and at apply.
func (r *dedicatedNodes) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Config.Raw, req.Config.Schema, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	message.RefuseReserved("taints", config.Taints, &resp.Diagnostics)
	// The selector's own validator reports what is wrong with it.
	var ignored diag.Diagnostics
	where := "nodes"
	if target, known := config.target(ctx, &ignored); known {
		where = message.Place(target)
	}
	message.WarnSystemKeys("taints", where, config.Taints, &resp.Diagnostics)
	if in, there := tfschema.MachineSetsOf(ctx, config.MachineSets, &resp.Diagnostics); there {
		tfschema.RefuseRolloutParameters(ctx, machineSets.AtName("rollout"), in.Rollout, &resp.Diagnostics)
	}
	for _, key := range slices.Sorted(maps.Keys(config.Labels.Elements())) {
		if why, reserved := label.Reserved(key); reserved {
			resp.Diagnostics.AddAttributeError(path.Root("labels").AtMapKey(key), fmt.Sprintf("Unable to manage the reserved label %q", key),
				"This label is reserved: "+why+". Choose another key.")
		}
	}
	// Whether pin makes sense depends on labels: nothing is said while these are
	// not known.
	taints, _ := tfschema.Taints(ctx, config.Taints, &resp.Diagnostics)
	labels, labelsKnown := config.labels(ctx, &resp.Diagnostics)
	workloads, workloadsKnown := config.workloads(ctx, &resp.Diagnostics)
	if !labelsKnown || !workloadsKnown || resp.Diagnostics.HasError() {
		return
	}
	var members []member
	for i, one := range workloads {
		m, _ := one.members(i, nil, label.Claim{Labels: labels}, &resp.Diagnostics)
		members = append(members, m...)
	}
	config.policy(ctx, ownership{}, taints, labels, &resp.Diagnostics)
	refuseTwice(members, &resp.Diagnostics)
}
