// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Descriptions of id: of resources in general, and of those that tolerated_by names.
const (
	IDDescription     = "Name of this resource in ownership records: `owner`, target and entries at creation."
	LinkIDDescription = "Name of this resource in ownership records. Other resources list it in `tolerated_by`."
)

// IDAttribute is the id attribute of a resource.
func IDAttribute(description string) schema.Attribute {
	return schema.StringAttribute{
		Computed:            true,
		MarkdownDescription: description,
		PlanModifiers:       []planmodifier.String{stringplanmodifier.UseStateForUnknown()},
	}
}

// TolerationsAttribute is a set of tolerations of a resource, which must have some. Those that other
// attributes can be set for are optional, with the validators that check it.
func TolerationsAttribute(description string, optional ...validator.Set) schema.Attribute {
	return schema.SetNestedAttribute{
		Required:            len(optional) == 0,
		Optional:            len(optional) > 0,
		MarkdownDescription: description,
		Validators:          slices.Concat([]validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues()}, optional, []validator.Set{UniqueTolerations()}),
		NestedObject:        schema.NestedAttributeObject{Attributes: TolerationAttributes(), Validators: []validator.Object{ValidToleration()}},
	}
}

// KeepTolerations returns the tolerations of a plan, in the words of the state where both mean the
// same. Terraform allows a provider to keep such a prior value.
func KeepTolerations(ctx context.Context, planned, stored types.Set) types.Set {
	return keep(ctx, planned, stored, Tolerations, toleration.Equal)
}

// KeepTaints does the same for taints.
func KeepTaints(ctx context.Context, planned, stored types.Set) types.Set {
	return keep(ctx, planned, stored, Taints, func(a, b corev1.Taint) bool { return a == b })
}

func keep[T any](ctx context.Context, planned, stored types.Set, read func(context.Context, types.Set, *diag.Diagnostics) ([]T, bool), equal func(a, b T) bool) types.Set {
	var ignored diag.Diagnostics
	is, isKnown := read(ctx, planned, &ignored)
	was, wasKnown := read(ctx, stored, &ignored)
	if isKnown && wasKnown && !planned.IsNull() && !stored.IsNull() && slices.EqualFunc(is, was, equal) {
		return stored
	}
	return planned
}
