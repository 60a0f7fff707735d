// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tolerationpolicy

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/mapvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the resource.
func (r *tolerationPolicy) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Adds tolerations to new pods by a MutatingAdmissionPolicy and its binding. The API server adds them to every new pod selected by `match`, without a webhook. Running pods are not changed, nor are pods whose own tolerations cover these. Needs Kubernetes 1.36, or 1.34 with `admissionregistration.k8s.io/v1beta1` and the feature gate MutatingAdmissionPolicy enabled.",
		Attributes: map[string]schema.Attribute{
			"id": tfschema.IDAttribute(tfschema.LinkIDDescription),
			"name": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the MutatingAdmissionPolicy and of its binding. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{tfschema.ObjectName()},
			},
			"match": schema.SingleNestedAttribute{
				Required:            true,
				MarkdownDescription: "Conditions that new pods must meet to get the tolerations. All must match.",
				Attributes:          tfschema.MatchAttributes(),
			},
			"tolerations": tfschema.TolerationsAttribute("Tolerations for new pods that lack them. Removed entries are kept while pods need them."),
			"pin": schema.MapAttribute{
				Optional:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Labels that the pods' nodes must have, added to every term of required node affinity.",
				Validators:          []validator.Map{mapvalidator.SizeAtLeast(1), mapvalidator.NoNullValues(), mapvalidator.KeysAre(tfschema.LabelKey()), mapvalidator.ValueStringsAre(tfschema.LabelValue())},
			},
			"failure_policy": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(tfschema.FailurePolicyIgnore),
				MarkdownDescription: "Pods if the policy cannot be evaluated: `Ignore` (default) admits them unchanged, `Fail` rejects them.",
				Validators:          []validator.String{stringvalidator.OneOf(tfschema.FailurePolicyIgnore, tfschema.FailurePolicyFail)},
			},
			"objects": schema.MapAttribute{
				Computed:            true,
				ElementType:         types.StringType,
				MarkdownDescription: "Drifted objects by kind: `missing`, `different`, or `retiring` (no longer needed). Empty when in sync.",
			},
		},
	}
}
