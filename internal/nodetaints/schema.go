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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// Schema describes the resource.
func (r *nodeTaints) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Taints of one node, or of every node that a selector matches, beside the taints that others have put there. " +
			"The plan names the pods that a change evicts. Taints of others are changed only where `absent_taints` or `on_conflict = \"adopt\"` says so; destroying the resource removes what it added and puts back what it removed.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Name under which this resource marks its entries on the nodes, made of the provider's `owner`, the target and the entries that it was created with.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"node_name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the node. It need not exist yet: the plan then warns, and apply waits for it as long as `timeouts.create` allows. Either this or `node_selector` is required; changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"node_selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the nodes. Nodes that come to match later are tainted at the next apply, and nodes that no longer match lose the taints; when both happen at once, the new nodes are tainted first. Changing it changes the nodes in place; changing from or to `node_name` replaces the resource.",
				Validators:          []validator.String{fw.Selector()},
			},
			"taints": schema.SetNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Taints that must be there. A taint is identified by key and effect; the same key with two effects is two taints.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: fw.TaintAttributes()},
			},
			"absent_taints": schema.SetNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Taints that must not be there, whoever put them there, such as the control-plane taint on a cluster of one node. Destroying the resource puts back the ones that it removed.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueAbsent()},
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"key":    schema.StringAttribute{Required: true, MarkdownDescription: fw.KeyDescription, Validators: fw.KeyValidators()},
					"effect": schema.StringAttribute{Required: true, MarkdownDescription: fw.EffectDescription, Validators: fw.EffectValidators()},
				}},
			},
			"on_conflict":  fw.OnConflictAttribute("on a node"),
			"evictions":    fw.EvictionsAttribute(),
			"tolerated_by": fw.ToleratedByAttribute(),
			"nodes": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Nodes that are not as wanted, by name: `missing` where a taint is not there, `different` where one has another value, should not be there, or has lost its mark. Empty when all is well.",
			},
			"timeouts": fw.TimeoutsAttribute(ctx,
				"How long to wait for a node that does not exist yet, for the live pods of `tolerated_by` and for the writes. Default: `10m`.",
				"How long to wait for the live pods of `tolerated_by` and for the writes. Default: `10m`.",
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
