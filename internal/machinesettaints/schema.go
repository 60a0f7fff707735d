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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// Values of rollout_state.
const (
	stateComplete    = "complete"
	stateInterrupted = "interrupted"
)

// Schema describes the resource.
func (r *machineSetTaints) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Taints of the template of an OpenShift MachineSet, or of every MachineSet that a selector matches, beside the taints that others have put there. " +
			"A template reaches no machine that exists: `rollout` says how the machines and nodes get the taints, and the plan says which pods that evicts. " +
			"A rollout that is interrupted, by a timeout or because the process is killed, loses no replica count: the next apply goes on where it stopped.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Name under which this resource marks its entries on the MachineSets, made of the provider's `owner`, the target and the taints that it was created with.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"namespace": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(fw.MachineAPINamespace),
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + fw.MachineAPINamespace + "`. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet, which must exist. Either this or `selector` is required; changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the MachineSets. Those that come to match later get the taints at the next apply, and those that no longer match lose them. Changing it changes the MachineSets in place; changing from or to `name` replaces the resource.",
				Validators:          []validator.String{fw.Selector()},
			},
			"taints": schema.SetNestedAttribute{
				Required:            true,
				MarkdownDescription: "Taints that must be in the template. A taint is identified by key and effect; the same key with two effects is two taints.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: fw.TaintAttributes()},
			},
			"on_conflict":  fw.OnConflictAttribute("in a template"),
			"evictions":    fw.EvictionsAttribute(),
			"tolerated_by": fw.ToleratedByAttribute(),
			"rollout":      fw.RolloutAttribute("How the taints reach machines that exist. Changing it alone writes nothing, unless `template_only` has left machines as they were."),
			"machines": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Machines that are not as wanted, by name: `missing` where a taint of this resource is not there, `different` where one has another value or should not be there, on the Machine or on its node; and the MachineSet by its own name where its template differs. Empty when all is well.",
			},
			"rollout_state": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "`" + stateComplete + "`, or `" + stateInterrupted + "` where a rollout of this resource has begun and not ended. The next apply goes on with it.",
			},
			"timeouts": fw.TimeoutsAttribute(ctx,
				"How long a rollout may take, from when its turn has come. Default: `60m`.",
				"How long a rollout may take, from when its turn has come. Default: `60m`.",
				"How long a rollout may take, from when its turn has come. Default: `60m`."),
		},
	}
}

// IdentitySchema describes what an import block by identity names. The taints of a
// resource may change in place, so that its identity may as well.
func (r *machineSetTaints) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{OptionalForImport: true, Description: "Namespace of the MachineSets, " + fw.MachineAPINamespace + " where it is left out."},
			"name":      identityschema.StringAttribute{OptionalForImport: true, Description: "Name of the MachineSet."},
			"selector":  identityschema.StringAttribute{OptionalForImport: true, Description: "Label selector of the MachineSets, in place of a name."},
			"taints":    identityschema.ListAttribute{RequiredForImport: true, ElementType: types.StringType, Description: "The taints, each as key:Effect."},
		},
	}
}
