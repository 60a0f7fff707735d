// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"github.com/hashicorp/terraform-plugin-framework-validators/int64validator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

func machineSetsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "MachineSets whose template changes, and their rollout. Required without `node_name` and `node_selector`.",
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + message.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet. Either this or `selector` is required.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253), stringvalidator.ExactlyOneOf(path.MatchRelative().AtParent().AtName("name"), path.MatchRelative().AtParent().AtName("selector"))},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the MachineSets.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"rollout": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "How existing machines would get the taints.",
				Attributes: map[string]schema.Attribute{
					"strategy":        schema.StringAttribute{Required: true, MarkdownDescription: tfschema.StrategyDescription, Validators: []validator.String{stringvalidator.OneOf(tfschema.Strategies...)}},
					"max_unavailable": schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.MaxUnavailableDescription, Validators: []validator.Int64{int64validator.AtLeast(1)}},
					"max_surge":       schema.Int64Attribute{CustomType: tfschema.WholeNumberType{}, Optional: true, MarkdownDescription: tfschema.MaxSurgeDescription, Validators: []validator.Int64{int64validator.AtLeast(1)}},
					"wait_for":        schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.WaitForDescription, Validators: []validator.String{stringvalidator.OneOf(tfschema.WaitMarkedDeleted, tfschema.WaitRemoved)}},
				},
			},
		},
	}
}
