// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
)

// What to do with a wanted taint that nobody has marked.
const (
	OnConflictFail        = "fail"
	OnConflictAdopt       = "adopt"
	OnConflictDescription = "What to do with a wanted taint that stands on a node already and that no one has marked: `fail` (the default) refuses, `adopt` takes it on, and destroying the resource then removes it. A taint that another resource has marked is refused in any case."
)

// EvictionsType and TimeoutsType are the types of the two objects.
var (
	EvictionsType = map[string]attr.Type{"max_pods": types.Int64Type, "protected_namespaces": types.SetType{ElemType: types.StringType}, "protected_selector": types.StringType, "stranded": types.StringType}
	TimeoutsType  = map[string]attr.Type{"create": types.StringType, "update": types.StringType, "delete": types.StringType}
)

// TaintAttributes are the attributes of a taint object in a resource.
func TaintAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":    schema.StringAttribute{Required: true, MarkdownDescription: KeyDescription, Validators: KeyValidators()},
		"value":  schema.StringAttribute{Optional: true, MarkdownDescription: ValueDescription, Validators: ValueValidators()},
		"effect": schema.StringAttribute{Required: true, MarkdownDescription: EffectDescription, Validators: EffectValidators()},
	}
}

// EvictionsAttribute is the evictions block of a resource.
func EvictionsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: EvictionsDescription + " Attributes that are left out are those of the provider block.",
		Attributes: map[string]schema.Attribute{
			"max_pods":             schema.Int64Attribute{Optional: true, MarkdownDescription: MaxPodsDescription, Validators: MaxPodsValidators},
			"protected_namespaces": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: ProtectedNamespacesDescription, Validators: ProtectedNamespacesValidators},
			"protected_selector":   schema.StringAttribute{Optional: true, MarkdownDescription: ProtectedSelectorDescription, Validators: ProtectedSelectorValidators},
			"stranded":             schema.StringAttribute{Optional: true, MarkdownDescription: StrandedDescription, Validators: StrandedValidators},
		},
	}
}

// BudgetOf returns the evictions block of a resource over the provider's; false
// while any of it is not known.
func BudgetOf(ctx context.Context, evictions types.Object, defaults Budget, diags *diag.Diagnostics) (Budget, bool) {
	if evictions.IsUnknown() {
		return Budget{}, false
	}
	var block *EvictionsModel
	diags.Append(evictions.As(ctx, &block, basetypes.ObjectAsOptions{UnhandledNullAsEmpty: false})...)
	if diags.HasError() || !block.Known() {
		return Budget{}, false
	}
	budget, found := block.Budget(ctx, defaults)
	diags.Append(found...)
	return budget, !diags.HasError()
}
