// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// ValidateConfig refuses reserved taints and taints that are wanted both ways.
// Values that are not known yet are looked at again at plan and at apply.
func (r *nodeTaints) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Config.Raw, req.Config.Schema, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	message.RefuseReserved("taints", config.Taints, &resp.Diagnostics)
	// The selector's own validator reports what is wrong with it.
	var ignored diag.Diagnostics
	where := "nodes"
	if target, known := config.target(&ignored); known {
		where = message.Place(target)
	}
	message.WarnSystemKeys("taints", where, config.Taints, &resp.Diagnostics)
	message.RefuseReserved("absent_taints", config.AbsentTaints, &resp.Diagnostics)
	tfschema.RefuseOverlap(config.Taints, config.AbsentTaints, path.Root("absent_taints"), &resp.Diagnostics)
}
