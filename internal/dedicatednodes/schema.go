// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/listvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// Schema describes the resource.
func (r *dedicatedNodes) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Nodes that are kept for some workloads: taints and labels on the nodes, and tolerations and node selectors of the workloads, in one resource and in the one order in which nobody is evicted by accident. " +
			"Labels come first, then the policy for pods that do not exist yet, then tolerations and node selectors in one change of the pod template, then the wait until all live pods carry them, and then the taints; what goes, goes the other way round. A change of a taint's value, effect or key brings the new and removes the old within one apply.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Name under which this resource marks its entries on nodes and workloads, made of the provider's `owner`, the nodes or MachineSets and the taints that it was created with.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"node_names": schema.SetAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Names of the nodes. They need not exist yet: the plan then warns, and apply waits for them as long as `timeouts` allows. Either this, `node_selector` or `machine_sets` is required. Changing it, or changing between this and `node_selector`, changes the nodes in place.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(stringvalidator.LengthBetween(1, 253))},
			},
			"node_selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the nodes. Nodes that come to match later are changed at the next apply, and nodes that no longer match lose what this resource has put there; when both happen at once, the new nodes come first. It must not depend on `labels`. Changing it changes the nodes in place.",
				Validators:          []validator.String{fw.Selector()},
			},
			"machine_sets": machineSetsAttribute(),
			"taints": schema.SetNestedAttribute{
				Required:            true,
				MarkdownDescription: "Taints that the nodes must have. A taint is identified by key and effect; the same key with two effects is two taints.",
				Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueTaints()},
				NestedObject:        schema.NestedAttributeObject{Attributes: fw.TaintAttributes()},
			},
			"labels": schema.MapAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Labels that the nodes must have. One that is there already with the same value is left as it is, and stays when the resource is destroyed (with `machine_sets`, one that the template has); one that somebody else has given another value is an error. Keys that Kubernetes keeps for itself are refused; those under `node-role.kubernetes.io` and `node-restriction.kubernetes.io` are not.",
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues(), mapvalidator.KeysAre(fw.LabelKey()), mapvalidator.ValueStringsAre(fw.LabelValue())},
			},
			"workloads": schema.ListNestedAttribute{
				Optional:            true,
				MarkdownDescription: "Workloads that the nodes are kept for. Each is given tolerations for all of `taints`, beside those that it has; one that it has from elsewhere, or that a broader one of it covers, is left as it is. They must exist, and their pods must follow a change of the template by themselves.",
				Validators:          []validator.List{listvalidator.SizeAtLeast(1), listvalidator.NoNullValues()},
				NestedObject:        schema.NestedAttributeObject{Attributes: workloadAttributes()},
			},
			"admission":   admissionAttribute(),
			"on_conflict": fw.OnConflictAttribute("on a node"),
			"evictions":   fw.EvictionsAttribute(),
			"steps": schema.ListAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "What the last apply that changed something has done, in its order, such as `expand Deployment shop/web`.",
			},
			"drift": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Nodes, workloads and policies that are not as wanted, as `node/NAME`, `KIND/NAMESPACE/NAME` or `policy/NAME`, and with `machine_sets` `machineset/NAMESPACE/NAME` and `machine/NAME`: `missing` where something is not there, `different` where it has another value, should not be there, or has lost its mark, `interrupted` where a rollout of machines has begun and not ended. Empty when all is well.",
			},
			"timeouts": fw.TimeoutsAttribute(ctx,
				"How long to wait for nodes that do not exist yet and for the live pods. Default: `20m`, and `60m` with `machine_sets`, where the rollouts of machines count as well.",
				"How long to wait for nodes, live pods and machines. Default: `20m`, and `60m` with `machine_sets`.",
				"How long to wait for live pods that require labels which go, and for machines. Default: `20m`, and `60m` with `machine_sets`."),
		},
	}
}

func machineSetsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional: true,
		MarkdownDescription: "OpenShift's MachineSets whose machines are kept for the workloads: taints and labels stand in their templates, labels come to machines and nodes that exist, and `rollout` says how the taints do. " +
			"Either this, `node_names` or `node_selector` is required. Changing one of them into this, this into one of them, or `namespace` or `name`, replaces the resource.",
		PlanModifiers: []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(otherMachineSets, "Other MachineSets replace the resource.", "Other MachineSets replace the resource.")},
		Attributes: map[string]schema.Attribute{
			"namespace": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Namespace of the MachineSets. Default: `" + fw.MachineAPINamespace + "`.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of the MachineSet, which must exist. Either this or `selector` is required.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253), stringvalidator.ExactlyOneOf(path.MatchRelative().AtParent().AtName("name"), path.MatchRelative().AtParent().AtName("selector"))},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector, in kubectl's syntax, of the MachineSets. Those that come to match later are changed at the next apply, and those that no longer match lose what this resource has put there.",
				Validators:          []validator.String{fw.Selector()},
			},
			"rollout": fw.RolloutAttribute("How the taints reach machines that exist."),
		},
	}
}

// otherMachineSets reports whether a change is about other nodes altogether: what is on
// nodes and what is in templates is given up in different ways.
func otherMachineSets(ctx context.Context, req planmodifier.ObjectRequest, resp *objectplanmodifier.RequiresReplaceIfFuncResponse) {
	if req.StateValue.IsNull() != req.ConfigValue.IsNull() {
		resp.RequiresReplace = true
		return
	}
	had, _ := fw.MachineSetsOf(ctx, req.StateValue, &resp.Diagnostics)
	has, _ := fw.MachineSetsOf(ctx, req.PlanValue, &resp.Diagnostics)
	if req.PlanValue.IsUnknown() || has.Name.IsUnknown() || has.Namespace.IsUnknown() {
		// An update could not become a replacement once it is known.
		resp.RequiresReplace = true
		return
	}
	before, hadKnown := had.Target(&resp.Diagnostics)
	after, hasKnown := has.Target(&resp.Diagnostics)
	resp.RequiresReplace = hadKnown && hasKnown && (before.Namespace != after.Namespace || before.Name != after.Name)
}

func workloadAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"api_version": fw.WorkloadAPIVersion(),
		"kind":        fw.WorkloadKind(),
		"namespace":   fw.WorkloadNamespace(),
		"name": schema.StringAttribute{
			Required:            true,
			MarkdownDescription: "Name of the workload.",
			Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
		},
		"path": schema.StringAttribute{
			Optional:            true,
			MarkdownDescription: fw.PathDescription(),
			Validators:          []validator.String{fw.TolerationPath()},
		},
		"toleration_seconds": schema.Int64Attribute{
			CustomType:          fw.WholeNumberType{},
			Optional:            true,
			MarkdownDescription: "For how many seconds the pods tolerate those of the taints that have the effect `NoExecute`. Leaving it out means for ever, which is what keeps them there.",
		},
		"pin": schema.BoolAttribute{
			Optional:            true,
			MarkdownDescription: "Whether the pods shall run on these nodes alone: the template then also requires `labels` in its node selector. Only for kinds with a pod template. Default: `false`.",
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
