// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the resource.
func (r *dedicatedNodes) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Dedicates nodes to workloads: taints and labels on the nodes, tolerations and node selectors on the workloads. The order of the steps evicts no pod by accident. Labels come first, then the policy for new pods. Tolerations and node selectors follow, in one change of the pod template. Taints follow once all running pods have them; removal runs in reverse order. A changed taint is added and the old one removed within one apply.",
		Attributes: map[string]schema.Attribute{
			"id": tfschema.IDAttribute(tfschema.IDDescription),
			"node_names": schema.SetAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Names of the nodes. Apply waits for them within `timeouts`. Changes apply in place.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, 253))},
			},
			"node_selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the nodes, evaluated at each apply. It must not depend on `labels`.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"machine_sets": machineSetsAttribute(),
			"taints": schema.SetNestedAttribute{
				Required:            true,
				MarkdownDescription: "Taints that the nodes must have, identified by key and effect.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), tfschema.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: tfschema.TaintAttributes()},
			},
			"labels": schema.MapAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Labels that the nodes must have. A foreign label with another value is an error.",
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues(), mapvalidator.KeysAre(tfschema.LabelKey()), mapvalidator.ValueStringsAre(tfschema.LabelValue())},
			},
			"workloads": schema.ListNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Workloads that get tolerations for all `taints`. They must exist, and follow template changes.",
				Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues()},
				NestedObject:        schema.NestedAttributeObject{Attributes: workloadAttributes()},
			},
			"admission":   admissionAttribute(),
			"on_conflict": tfschema.OnConflictAttribute(),
			"evictions":   tfschema.EvictionsAttribute(),
			"steps": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Steps of the last apply with changes, in order, such as `expand Deployment shop/web`.",
			},
			"drift": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Drifted objects, such as `node/worker-1`: `missing`, `different` or `interrupted`. Empty when in sync.",
			},
			"timeouts": tfschema.TimeoutsAttribute(ctx,
				"How long to wait for nodes, running pods and machines. Default: `20m`; with `machine_sets` `60m`.",
				"How long to wait for nodes, running pods and machines. Default: `20m`; with `machine_sets` `60m`.",
				"How long to wait for running pods and machines. Default: `20m`; with `machine_sets` `60m`."),
		},
	}
}

func machineSetsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: "OpenShift MachineSets kept for the workloads. Switching to or from them replaces the resource.",
		PlanModifiers:       []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(otherMachineSets, "Other MachineSets replace the resource.", "Other MachineSets replace the resource.")},
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + message.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet, which must exist. Either this or `selector` is required.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253), stringvalidator.ExactlyOneOf(path.MatchRelative().AtParent().AtName("name"), path.MatchRelative().AtParent().AtName("selector"))},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the MachineSets, evaluated at each apply.",
				Validators:          []validator.String{tfschema.Selector()},
			},
			"rollout": tfschema.RolloutAttribute("How existing machines get the taints."),
		},
	}
}

// otherMachineSets reports whether a change is about other nodes altogether: what is on
// nodes and what is in templates is given up in different ways.
func otherMachineSets(ctx context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
	resp.RequiresReplace = areOthers(ctx, req.StateValue, req.PlanValue, &resp.Diagnostics)
}

func areOthers(ctx context.Context, state, plan types.Object, diags *diag.Diagnostics) bool {
	if state.IsNull() != plan.IsNull() {
		return true
	}
	had, _ := tfschema.MachineSetsOf(ctx, state, diags)
	has, _ := tfschema.MachineSetsOf(ctx, plan, diags)
	if plan.IsUnknown() || has.Name.IsUnknown() || has.Namespace.IsUnknown() {
		// An update could not become a replacement once it is known.
		return true
	}
	before, hadKnown := had.Target(diags)
	after, hasKnown := has.Target(diags)
	return hadKnown && hasKnown && (before.Namespace != after.Namespace || before.Name != after.Name)
}

func workloadAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_version": tfschema.WorkloadAPIVersion(),
		"kind":        tfschema.WorkloadKind(),
		"namespace":   tfschema.WorkloadNamespace(),
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the workload.",
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
		},
		"path": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: tfschema.PathDescription,
			Validators:          []validator.String{tfschema.TolerationPath()},
		},
		"toleration_seconds": schema.Int64Attribute{
			CustomType:          tfschema.WholeNumberType{},
			Optional:            true,
			MarkdownDescription: "Seconds for which pods tolerate the `NoExecute` taints. Default: forever.",
		},
		"pin": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether pods run only on these nodes: the template's node selector requires `labels`. Default: `false`.",
		},
	}
}

// IdentitySchema describes what an import block by identity names. Nodes and
// taints of a resource may change in place, so that its identity may as well.
func (r *dedicatedNodes) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"target": identityschema.StringAttribute{RequiredForImport: true, Description: "nodes/NAME,NAME, selector/SELECTOR, machine_sets/NAMESPACE/NAME or machine_sets/NAMESPACE/SELECTOR."},
			"taints": identityschema.ListAttribute{RequiredForImport: true, ElementType: types.StringType, Description: "The taints, each as key:Effect."},
		},
	}
}
