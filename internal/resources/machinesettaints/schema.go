// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Values of rollout_state.
const (
	stateComplete    = "complete"
	stateInterrupted = "interrupted"
)

// Schema describes the resource.
func (r *machineSetTaints) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages taints in the template of an OpenShift MachineSet, or of all MachineSets matching a selector, without touching other taints. A template does not change existing machines: `rollout` decides how they get the taints. The plan shows which pods this evicts, by workload. An interrupted rollout loses no replica count: the next apply continues it.",
		Attributes: map[string]schema.Attribute{
			"id": tfschema.IDAttribute(tfschema.IDDescription),
			"namespace": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(message.MachineAPINamespace),
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + message.MachineAPINamespace + "`. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet, which must exist. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the MachineSets, evaluated at each apply. Switching from `name` replaces the resource.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"taints": schema.SetNestedAttribute{
				Required:            true,
				MarkdownDescription: "Taints that the template must have, identified by key and effect.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: tfschema.TaintAttributes()},
			},
			"on_conflict":  tfschema.OnConflictAttribute(),
			"evictions":    tfschema.EvictionsAttribute(),
			"tolerated_by": tfschema.ToleratedByAttribute(),
			"rollout":      tfschema.RolloutAttribute("How existing machines get the taints. Changing it alone writes nothing, except after `template_only`."),
			"machines": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Drifted Machines and MachineSets by name: `missing` or `different` taints. Empty when in sync.",
			},
			"rollout_state": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "`" + stateComplete + "`, or `" + stateInterrupted + "` if a rollout has not ended. The next apply continues it.",
			},
			"timeouts": tfschema.TimeoutsAttribute(ctx,
				"How long a rollout may take once its turn comes. Default: `60m`.",
				"How long a rollout may take once its turn comes. Default: `60m`.",
				"How long a rollout may take once its turn comes. Default: `60m`."),
		},
	}
}

// IdentitySchema describes what an import block by identity names. The taints of a
// resource may change in place, so that its identity may as well.
func (r *machineSetTaints) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{OptionalForImport: true, Description: "Namespace of the MachineSets, " + message.MachineAPINamespace + " by default."},
			"name":      identityschema.StringAttribute{OptionalForImport: true, Description: "Name of the MachineSet."},
			"selector":  identityschema.StringAttribute{OptionalForImport: true, Description: "Label selector of the MachineSets, instead of a name."},
			"taints":    identityschema.ListAttribute{RequiredForImport: true, ElementType: types.StringType, Description: "The taints, each as key:Effect."},
		},
	}
}
