// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package namespacetolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Schema describes the resource.
func (r *namespaceTolerations) Schema(_ context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	oneList := setvalidator.AtLeastOneOf(path.MatchRoot("default"), path.MatchRoot("allowed"))
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages the default and the allowed tolerations of new pods in a namespace, without touching other entries. They are entries of the annotations `" +
			admission.DefaultsAnnotation + "` and `" + admission.WhitelistAnnotation + "`. The admission plug-in PodTolerationRestriction reads them. It is on by default on OpenShift and off by default on Kubernetes; the plan warns where it is off.",
		Attributes: map[string]schema.Attribute{
			"id": tfschema.IDAttribute(tfschema.IDDescription),
			"namespace": schema.StringAttribute{
				Required:            true,
				MarkdownDescription: "Name of the namespace, which must exist. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplace()},
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
			},
			"default": tfschema.TolerationsAttribute("Tolerations added to new pods of the namespace, unless a pod's own toleration covers them.", oneList, tfschema.Keyless("namespace", "namespace")),
			"allowed": tfschema.TolerationsAttribute("Tolerations that pods of the namespace may have. **The first entry rejects all others**.", oneList),
		},
	}
}
