// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
)

// Schema describes the resource.
func (r *namespaceTolerations) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	list := func(what string) schema.Attribute {
		return schema.SetNestedAttribute{
			Optional:            true,
			MarkdownDescription: what,
			Validators: []validator.Set{
				setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.AtLeastOneOf(path.MatchRoot("default"), path.MatchRoot("allowed")), fw.UniqueTolerations(),
			},
			NestedObject: schema.NestedAttributeObject{Attributes: fw.TolerationAttributes(), Validators: []validator.Object{fw.ValidToleration()}},
		}
	}
	resp.Schema = schema.Schema{
		MarkdownDescription: "Tolerations that the pods of a namespace are given when they are made, and those that they may have, beside what others have put there: entries of the annotations `" +
			admission.DefaultsAnnotation + "` and `" + admission.WhitelistAnnotation + "`. The admission plug-in PodTolerationRestriction reads them. It is on by default on OpenShift and off by default on Kubernetes; the plan warns where it is off.",
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{
				Computed:            true,
				MarkdownDescription: "Name under which this resource marks its entries, made of the provider's `owner`, the namespace and the tolerations that it was created with.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
			},
			"namespace": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the namespace, which must exist. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"default": list("Tolerations that every pod is given that is made in the namespace, unless it has one that covers it. Pods that are there already are not changed. Either this or `allowed` is required."),
			"allowed": list("Tolerations that pods of the namespace may have, broader than theirs or the same. **The first entry limits the namespace**: a pod is refused of which any toleration is not covered, and every pod has those of `node.kubernetes.io/not-ready` and `unreachable`. The plan names the live pods that could not be recreated."),
		},
	}
}

// IdentitySchema describes what an import block by identity names.
func (r *namespaceTolerations) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"namespace": identityschema.StringAttribute{RequiredForImport: true, Description: "Name of the namespace."},
		},
	}
}
