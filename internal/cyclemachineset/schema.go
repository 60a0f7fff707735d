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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// Schema describes the action.
func (*cycleMachineSet) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Replaces every machine of an OpenShift MachineSet that is there when it begins, and reports its progress. The template stays as it is, so that the new machines come from the template as it is now, and the number of machines is what it was. " +
			"An invocation that is interrupted, by a timeout or because the process is killed, loses no replica count; the next one goes on with the machines that are left.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSet. Default: `" + fw.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the MachineSet.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"rollout":   rolloutAttribute(),
			"evictions": fw.ActionEvictionsAttribute(),
			"timeout":   fw.TimeoutAttribute("How long it may take, from when its turn has come, such as `90m` or `2h`. Default: `60m`."),
		},
	}
}

func rolloutAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required:            true,
		MarkdownDescription: "How the machines are replaced.",
		Attributes: map[string]schema.Attribute{
			"strategy": schema.StringAttribute{
				Required: true,
				MarkdownDescription: "`rolling`: machines are deleted, `max_unavailable` at a time, and the controller replaces them. " +
					"`surge`: `max_surge` machines are added first, so that there are never fewer than before. `scale_to_zero`: all machines go at once, and as many come back.",
				Validators: []validator.String{stringvalidator.OneOf(string(machineset.Rolling), string(machineset.Surge), string(machineset.ScaleToZero))},
			},
			"max_unavailable": schema.Int64Attribute{
				CustomType:          fw.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "How many machines may be missing at a time with `rolling`. Default: `1`.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"max_surge": schema.Int64Attribute{
				CustomType:          fw.WholeNumberType{},
				Optional:            true,
				MarkdownDescription: "How many machines are added with `surge`. Default: `1`.",
				Validators:          []validator.Int64{int64validator.AtLeast(1)},
			},
			"wait_for": schema.StringAttribute{
				Optional: true,
				MarkdownDescription: "What `scale_to_zero` waits for before it scales back: `" + fw.WaitMarkedDeleted + "` (the default), that all old machines are being deleted, " +
					"or `" + fw.WaitRemoved + "`, that they are gone.",
				Validators: []validator.String{stringvalidator.OneOf(fw.WaitMarkedDeleted, fw.WaitRemoved)},
			},
		},
	}
}
