// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// Answers to a wanted taint that exists without an owner.
const (
	OnConflictFail  = "fail"
	OnConflictAdopt = "adopt"
)

// EvictionsType and TimeoutsType are the types of the two objects.
var (
	EvictionsType = map[string]attr.Type{
		"max_pods": WholeNumberType{}, "max_pending": WholeNumberType{}, "max_lost": WholeNumberType{},
		"protected_namespaces": types.SetType{ElemType: types.StringType}, "protected_selector": types.StringType, "only": types.SetType{ElemType: types.StringType}, "stranded": types.StringType,
	}
	TimeoutsType = map[string]attr.Type{"create": types.StringType, "update": types.StringType, "delete": types.StringType}
)

// TaintAttributes are the attributes of a taint object in a resource.
func TaintAttributes() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key":    schema.StringAttribute{Required: true, MarkdownDescription: KeyDescription, Validators: KeyValidators()},
		"value":  schema.StringAttribute{Optional: true, MarkdownDescription: ValueDescription, Validators: ValueValidators()},
		"effect": schema.StringAttribute{Required: true, MarkdownDescription: EffectDescription, Validators: EffectValidators()},
	}
}

// OnConflictAttribute is the on_conflict attribute of a resource that writes taints.
func OnConflictAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		Computed:            true,
		Default:             stringdefault.StaticString(OnConflictFail),
		MarkdownDescription: "What to do with a taint without an owner: `fail` (default) or `adopt`.",
		Validators:          []validator.String{stringvalidator.OneOf(OnConflictFail, OnConflictAdopt)},
	}
}

// EvictionsAttribute is the evictions block of a resource.
func EvictionsAttribute() schema.Attribute {
	return schema.SingleNestedAttribute{
		Optional:            true,
		MarkdownDescription: EvictionsDescription,
		Validators:          LimitsValidators,
		Attributes: map[string]schema.Attribute{
			"max_pods":             schema.Int64Attribute{CustomType: WholeNumberType{}, Optional: true, MarkdownDescription: MaxPodsDescription, Validators: MaxPodsValidators},
			"max_pending":          schema.Int64Attribute{CustomType: WholeNumberType{}, Optional: true, MarkdownDescription: MaxPendingDescription, Validators: MaxPodsValidators},
			"max_lost":             schema.Int64Attribute{CustomType: WholeNumberType{}, Optional: true, MarkdownDescription: MaxLostDescription, Validators: MaxPodsValidators},
			"protected_namespaces": schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: ProtectedNamespacesDescription, Validators: ProtectedNamespacesValidators},
			"protected_selector":   schema.StringAttribute{Optional: true, MarkdownDescription: ProtectedSelectorDescription, Validators: ProtectedSelectorValidators},
			"only":                 schema.SetAttribute{Optional: true, ElementType: types.StringType, MarkdownDescription: OnlyDescription, Validators: OnlyValidators},
			"stranded":             schema.StringAttribute{Optional: true, MarkdownDescription: StrandedDescription, Validators: StrandedValidators},
		},
	}
}

// WorkloadAPIVersion is the api_version of a workload in a resource.
func WorkloadAPIVersion() schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "API version, such as `apps/v1`. Required for kinds that are not built in.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
}

// WorkloadKind is the kind of a workload in a resource.
func WorkloadKind() schema.Attribute {
	return schema.StringAttribute{
		Required:            true,
		MarkdownDescription: "Kind, such as `Deployment`.",
		Validators:          []validator.String{stringvalidator.LengthAtLeast(1)},
	}
}

// WorkloadNamespace is the namespace of a workload in a resource.
func WorkloadNamespace() schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Namespace. Required unless objects of this kind have none.",
		Validators:          []validator.String{stringvalidator.LengthBetween(1, 63)},
	}
}

// PathDescription describes the path of a workload in a resource. The page of
// kubetaint_workload_tolerations lists the kinds that need none.
const PathDescription = "Path of the tolerations in custom resources, such as `spec.nodePlacement.tolerations`, or of monitoring components."

// ToleratedByAttribute is the tolerated_by attribute of a resource that writes taints.
func ToleratedByAttribute() schema.Attribute {
	return schema.SetAttribute{
		Optional:            true,
		ElementType:         types.StringType,
		MarkdownDescription: "`id`s of tolerations and policies that pods rely on. Taints wait for their rollouts.",
		Validators:          []validator.Set{setvalidator.SizeAtLeast(1), setvalidator.NoNullValues(), setvalidator.ValueStringsAre(linkID())},
	}
}

// Linked returns the ids in tolerated_by; false while any is not known.
func Linked(ctx context.Context, toleratedBy types.Set, diags *diag.Diagnostics) ([]string, bool) {
	if toleratedBy.IsUnknown() || slices.ContainsFunc(toleratedBy.Elements(), attr.Value.IsUnknown) {
		return nil, false
	}
	var ids []string
	diags.Append(toleratedBy.ElementsAs(ctx, &ids, false)...)
	return ids, !diags.HasError()
}

// KeepIdentity gives an identity to a refresh that has none. Terraform before 1.12 and OpenTofu
// store none, and the framework refuses a refresh that returns none, even one that keeps or
// drops the state (terraform-plugin-framework internal/fwserver/server_readresource.go).
func KeepIdentity(ctx context.Context, to *tfsdk.ResourceIdentity, identity any, diags *diag.Diagnostics) {
	if to != nil && to.Raw.IsFullyNull() && !diags.HasError() {
		diags.Append(to.Set(ctx, identity)...)
	}
}

// LimitsOf returns the evictions block of a resource over the provider's; false
// while any of it is not known.
func LimitsOf(ctx context.Context, evictions types.Object, defaults message.Limits, diags *diag.Diagnostics) (message.Limits, bool) {
	if evictions.IsUnknown() {
		return message.Limits{}, false
	}
	var block *EvictionsModel
	diags.Append(evictions.As(ctx, &block, basetypes.ObjectAsOptions{UnhandledNullAsEmpty: false})...)
	if diags.HasError() || !block.Known() {
		return message.Limits{}, false
	}
	limits, found := block.Limits(ctx, defaults)
	limits.OwnBlock = !evictions.IsNull()
	diags.Append(found...)
	return limits, !diags.HasError()
}
