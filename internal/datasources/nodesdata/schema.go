// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodesdata

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the data source.
func (*nodes) Schema(_ context.Context, _ datasource.SchemaRequest, resp *datasource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Nodes of the cluster with their labels and taints, and the owner of each taint.",
		Attributes: map[string]schema.Attribute{
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the nodes. Default: all nodes.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"taint": schema.SingleNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Taint that the nodes must have. Nodes are returned with all of their taints.",
				Attributes: map[string]schema.Attribute{
					"key":    schema.StringAttribute{Required: true, MarkdownDescription: tfschema.KeyDescription, Validators: tfschema.KeyValidators()},
					"value":  schema.StringAttribute{Optional: true, MarkdownDescription: "Value of the taint. Default: any value; `\"\"` matches a taint without value.", Validators: tfschema.ValueValidators()},
					"effect": schema.StringAttribute{Optional: true, MarkdownDescription: tfschema.EffectDescription + " Default: any effect.", Validators: tfschema.EffectValidators()},
				},
			},
			"nodes": schema.ListNestedAttribute{
				Computed:            true,
				MarkdownDescription: "Nodes, sorted by name.",
				NestedObject:        schema.NestedAttributeObject{Attributes: nodeAttributes()},
			},
		},
	}
}

func nodeAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"name":    schema.StringAttribute{Computed: true, MarkdownDescription: "Name of the node."},
		"labels":  schema.MapAttribute{Computed: true, ElementType: types.StringType, MarkdownDescription: "Labels of the node."},
		"machine": schema.StringAttribute{Computed: true, MarkdownDescription: "OpenShift Machine of the node as `namespace/name`; null if it has none."},
		"taints": schema.ListNestedAttribute{
			Computed:            true,
			MarkdownDescription: "Taints of the node, sorted by key and effect.",
			NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
				"key":        schema.StringAttribute{Computed: true, MarkdownDescription: "Key of the taint."},
				"value":      schema.StringAttribute{Computed: true, MarkdownDescription: "Value of the taint; null if empty."},
				"effect":     schema.StringAttribute{Computed: true, MarkdownDescription: "Effect of the taint."},
				"time_added": schema.StringAttribute{Computed: true, MarkdownDescription: "When the taint was added, in RFC 3339; null if not recorded."},
				"owner":      schema.StringAttribute{Computed: true, MarkdownDescription: "`id` of the kubetaint resource that owns the taint; null if none does."},
			}},
		},
	}
}
