// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the action.
func (*cycleMachineSet) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Replaces every existing machine of an OpenShift MachineSet, and reports its progress. New machines come from the current template, and their number stays the same. " +
			"An interrupted invocation loses no replica count: the next one continues with the remaining machines.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSet. Default: `" + message.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the MachineSet.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"rollout":   rolloutAttribute(),
			"evictions": tfschema.ActionEvictionsAttribute(),
			"timeout":   tfschema.TimeoutAttribute("How long the rollout may take once its turn comes, such as `90m`. Default: `60m`."),
		},
	}
}

func rolloutAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required:            true,
		MarkdownDescription: "How the machines are replaced.",
		Attributes: map[string]schema.Attribute{
			"strategy": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "`rolling` deletes machines first, `surge` adds some first, `scale_to_zero` deletes and recreates all.",
				Validators:          []validator.String{stringvalidator.OneOf(string(machineset.Rolling), string(machineset.Surge), string(machineset.ScaleToZero))},
			},
			"max_unavailable": schema.Int64Attribute{
				CustomType:          tfschema.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "How many machines may be missing at a time with `rolling`. Default: `1`.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"max_surge": schema.Int64Attribute{
				CustomType:          tfschema.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "How many machines are added with `surge`. Default: `1`.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"wait_for": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "When `scale_to_zero` scales back: `" + tfschema.WaitMarkedDeleted + "` (default), all machines being deleted, or `" + tfschema.WaitRemoved + "`, all gone.",
				Validators:          []validator.String{stringvalidator.OneOf(tfschema.WaitMarkedDeleted, tfschema.WaitRemoved)},
			},
		},
	}
}
