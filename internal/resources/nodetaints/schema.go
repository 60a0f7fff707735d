// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the resource.
func (r *nodeTaints) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages taints on one node or on all nodes matching a selector, without touching other taints. The plan shows which pods a change evicts, by workload. Foreign taints change only with `absent_taints` or `on_conflict = \"adopt\"`. Destroying the resource removes what it added and restores what it removed.",
		Attributes: map[string]schema.Attribute{
			"id": tfschema.IDAttribute(tfschema.IDDescription),
			"node_name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the node. Apply waits for it within `timeouts.create`. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"node_selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the nodes, evaluated at each apply. Switching from `node_name` replaces the resource.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"taints": schema.SetNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Taints that the nodes must have, identified by key and effect.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: tfschema.TaintAttributes()},
			},
			"absent_taints": schema.SetNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Taints that the nodes must not have, owned or not. Destroying the resource restores them.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueAbsent()},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"key":    schema.StringAttribute{Required: true, MarkdownDescription: tfschema.KeyDescription, Validators: tfschema.KeyValidators()},
					"effect": schema.StringAttribute{Required: true, MarkdownDescription: tfschema.EffectDescription, Validators: tfschema.EffectValidators()},
				}},
			},
			"on_conflict":  tfschema.OnConflictAttribute(),
			"evictions":    tfschema.EvictionsAttribute(),
			"tolerated_by": tfschema.ToleratedByAttribute(),
			"nodes": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Drifted nodes by name: `missing` or `different` taints. Empty when in sync.",
			},
			"timeouts": tfschema.TimeoutsAttribute(ctx,
				"How long to wait for the node, running pods and writes. Default: `10m`.",
				"How long to wait for running pods and writes. Default: `10m`.",
				"How long the writes may take. Default: `10m`."),
		},
	}
}

// IdentitySchema describes what an import block by identity names. The taints
// of a resource may change in place, so that its identity may as well.
func (r *nodeTaints) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"target": identityschema.StringAttribute{RequiredForImport: true, Description: "node/NAME or selector/SELECTOR."},
			"taints": identityschema.ListAttribute{RequiredForImport: true, ElementType: types.StringType, Description: "The taints, each as key:Effect."},
		},
	}
}
