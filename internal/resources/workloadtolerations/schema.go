// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/booldefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/objectplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

const (
	retireWhenUnneeded = "when_unneeded"
	retireNow          = "now"
)

// Schema describes the resource.
func (r *workloadTolerations) Schema(ctx context.Context, _ resource.SchemaRequest, resp *resource.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Manages tolerations of a workload, without touching other tolerations. The plan shows how many pods restart. A removed toleration is kept until no taint needs it, so a change in the wrong order evicts no pod.",
		Attributes: map[string]schema.Attribute{
			"id":       tfschema.IDAttribute(tfschema.LinkIDDescription),
			"workload": workloadAttribute(),
			"path": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Path of the tolerations in a custom resource. Changing it replaces the resource.",
				PlanModifiers:       []planmodifier.String{stringplanmodifier.RequiresReplaceIf(anotherPath, "another path replaces the resource", "another path replaces the resource")},
				Validators:          []validator.String{tfschema.TolerationPath()},
			},
			"tolerations": tfschema.TolerationsAttribute("Tolerations that the workload must have. Entries that others provide already are left unchanged."),
			"wait_for_rollout": schema.BoolAttribute{
				Optional:            true,
				Computed:            true,
				Default:             booldefault.StaticBool(true),
				MarkdownDescription: "Whether to wait until every running pod has the tolerations. Default: `true`.",
			},
			"retire": schema.StringAttribute{
				Optional:            true,
				Computed:            true,
				Default:             stringdefault.StaticString(retireWhenUnneeded),
				MarkdownDescription: "When to remove tolerations that pods still need: `when_unneeded` (default) or `now`, which strands pods.",
				Validators:          []validator.String{stringvalidator.OneOf(retireWhenUnneeded, retireNow)},
			},
			"timeouts": tfschema.TimeoutsAttribute(ctx,
				"How long to wait for the running pods. Default: `20m`.",
				"How long to wait for the running pods. Default: `20m`.",
				"How long the writes may take; a destroy waits for no pods. Default: `10m`."),
		},
	}
}

func workloadAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Required:            true,
		MarkdownDescription: "Workload. Either `name` or `selector` is required. Changing it replaces the resource.",
		PlanModifiers:       []planmodifier.Object{objectplanmodifier.RequiresReplaceIf(anotherWorkload, "another workload replaces the resource", "another workload replaces the resource")},
		Attributes: map[string]schema.Attribute{
			"api_version": tfschema.WorkloadAPIVersion(),
			"kind":        tfschema.WorkloadKind(),
			"namespace":   tfschema.WorkloadNamespace(),
			"name": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Name of one workload, which must exist.",
				Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
			},
			"selector": schema.StringAttribute{
				Optional:            true,
				MarkdownDescription: "Label selector of the workloads, evaluated at each apply.",
				Validators:          []validator.String{tfschema.Selector()},
			},
		},
	}
}

// IdentitySchema describes what an import block by identity names.
func (r *workloadTolerations) IdentitySchema(_ context.Context, _ resource.IdentitySchemaRequest, resp *resource.IdentitySchemaResponse) {
	resp.IdentitySchema = identityschema.Schema{
		Attributes: map[string]identityschema.Attribute{
			"api_version": identityschema.StringAttribute{OptionalForImport: true, Description: "API version, for kinds that are not built in."},
			"kind":        identityschema.StringAttribute{RequiredForImport: true, Description: "Kind of the workload."},
			"namespace":   identityschema.StringAttribute{OptionalForImport: true, Description: "Namespace of the workload, if it has one."},
			"name":        identityschema.StringAttribute{OptionalForImport: true, Description: "Name of the workload."},
			"selector":    identityschema.StringAttribute{OptionalForImport: true, Description: "Label selector of the workloads, instead of a name."},
			"path":        identityschema.StringAttribute{OptionalForImport: true, Description: "Path of the list of tolerations, for custom resources."},
		},
	}
}
