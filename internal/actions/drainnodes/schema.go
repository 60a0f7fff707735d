// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the action.
func (*drainNodes) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Cordons nodes and evicts their pods, node after node, as `kubectl drain` does: within PodDisruptionBudgets. It reports what blocks it.",
		Attributes: map[string]schema.Attribute{
			"node_name":     tfschema.NodeNameAttribute(),
			"node_selector": tfschema.NodeSelectorAttribute("Label selector of the nodes. All are cordoned before the first drain."),
			"pod_selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the pods to evict. Others stay, and stop no drain. Default: all.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"ignore_daemon_sets": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether to leave pods of DaemonSets. Default: `true`; `false` stops the drain before it begins.",
			},
			"delete_local_data": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether to evict pods with `emptyDir`, losing its data. Default: `false`, which stops the drain.",
			},
			"disable_eviction": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether to delete pods instead of evicting them, bypassing PodDisruptionBudgets. Default: `false`.",
			},
			"grace_period_seconds": schema.Int64Attribute{
				CustomType:          tfschema.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "Grace period of pods in seconds; `0` kills immediately. Default: `terminationGracePeriodSeconds` of each.",
				Validators:          []validator.Int64{int64validator.AtLeast(0)},
			},
			"wait_for_replacements": schema.BoolAttribute{
				Optional:            true,
				MarkdownDescription: "Whether to wait until evicted pods are ready on other nodes. Default: `true`.",
			},
			"evictions": tfschema.ActionEvictionsAttribute(),
			"timeout":   tfschema.TimeoutAttribute("How long the drain of all nodes may take, such as `90m`. Default: `60m`."),
		},
	}
}

// ConfigValidators reports which attributes go together.
func (*drainNodes) ConfigValidators(context.Context) []action.ConfigValidator {
	return tfschema.NameOrSelector()
}
