// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
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

// Schema describes the resource.
func (r *tolerationPolicy) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Tolerations for pods that do not exist yet, by a MutatingAdmissionPolicy and its binding: the API server itself gives them to each pod that is made and that `match` means, and no webhook has to run. " +
			"Pods that are there already are not changed. A pod whose own tolerations cover one of these is left as it is. Needs Kubernetes 1.36, or 1.34 with `admissionregistration.k8s.io/v1beta1` and the feature gate MutatingAdmissionPolicy switched on.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Name under which this resource marks the policy, made of the provider's `owner` and `name`. It goes into `tolerated_by` of resources that write taints.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the MutatingAdmissionPolicy and of its binding. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{fw.ObjectName()},
			},
			"match": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "Which pods get the tolerations: those that meet every condition given here.",
				Attributes:          fw.MatchAttributes(),
			},
			"tolerations": schema.SetNestedAttribute{
				Required: true,
				MarkdownDescription: "Tolerations that the pods get, each unless one of the pod's own tolerates the same taints already, for whatever time. " +
					"One that is taken out while a taint stands that the pods would not tolerate without it stays until an apply after the taint has gone.",
				Validators:   []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), fw.UniqueTolerations()},
				NestedObject: schema.NestedAttributeObject{Attributes: fw.TolerationAttributes(), Validators: []validator.Object{fw.ValidToleration()}},
			},
			"pin": schema.MapAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Labels that the nodes of the pods must have: required node affinity, which is added to every term that a pod has of it already.",
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues(), mapvalidator.KeysAre(fw.LabelKey()), mapvalidator.ValueStringsAre(fw.LabelValue())},
			},
			"failure_policy": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(fw.FailurePolicyIgnore),
				MarkdownDescription: "What becomes of a pod where the policy cannot be evaluated: `Ignore` (the default) makes it as it was asked for, `Fail` refuses it.",
				Validators:          []validator.String{stringvalidator.OneOf(fw.FailurePolicyIgnore, fw.FailurePolicyFail)},
			},
			"objects": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "The objects, by kind, that are not as wanted: `missing`, `different`, or `retiring` where the policy still gives a toleration that nothing needs any more. Empty when all is well.",
			},
		},
	}
}

// IdentitySchema describes what an import block by identity names.
func (r *tolerationPolicy) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"name": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the policy."},
		},
	}
}
