// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework-validators/actionvalidator"
	"github.com/hashicorp/terraform-plugin-framework-validators/stringvalidator"
	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// ActionEvictionsAttribute is the evictions block of an action. An action replaces no
// taint by another one, so that nothing is stranded by it.
func ActionEvictionsAttribute() schema.Attribute {
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
		},
	}
}

// ActionLimitsOf returns the evictions block of an action over the provider's; false
// while any of it is not known.
func ActionLimitsOf(ctx context.Context, evictions types.Object, defaults message.Limits, diags *diag.Diagnostics) (message.Limits, bool) {
	if evictions.IsUnknown() {
		return message.Limits{}, false
	}
	var block *struct {
		MaxPods             WholeNumber  `tfsdk:"max_pods"`
		MaxPending          WholeNumber  `tfsdk:"max_pending"`
		MaxLost             WholeNumber  `tfsdk:"max_lost"`
		ProtectedNamespaces types.Set    `tfsdk:"protected_namespaces"`
		ProtectedSelector   types.String `tfsdk:"protected_selector"`
		Only                types.Set    `tfsdk:"only"`
	}
	diags.Append(evictions.As(ctx, &block, basetypes.ObjectAsOptions{})...)
	if diags.HasError() {
		return message.Limits{}, false
	}
	if block == nil {
		return defaults, true
	}
	full := &EvictionsModel{
		MaxPods: block.MaxPods, MaxPending: block.MaxPending, MaxLost: block.MaxLost,
		ProtectedNamespaces: block.ProtectedNamespaces, ProtectedSelector: block.ProtectedSelector, Only: block.Only,
	}
	if !full.Known() {
		return message.Limits{}, false
	}
	limits, found := full.Limits(ctx, defaults)
	limits.OwnBlock = !evictions.IsNull()
	diags.Append(found...)
	return limits, !diags.HasError()
}

// NodeNameAttribute is the attribute of an action that names a node.
func NodeNameAttribute() schema.Attribute {
	return schema.StringAttribute{
		Optional:            true,
		MarkdownDescription: "Name of the node. Either this or `node_selector` is required.",
		Validators:          []validator.String{stringvalidator.LengthBetween(1, 253)},
	}
}

// NodeSelectorAttribute is the attribute of an action that selects nodes in place of a name.
func NodeSelectorAttribute(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{Selector()}}
}

// NameOrSelector has an action take exactly one of the two.
func NameOrSelector() []action.ConfigValidator {
	return []action.ConfigValidator{actionvalidator.ExactlyOneOf(path.MatchRoot("node_name"), path.MatchRoot("node_selector"))}
}

// TimeoutAttribute is the timeout attribute of an action.
func TimeoutAttribute(description string) schema.Attribute {
	return schema.StringAttribute{Optional: true, MarkdownDescription: description, Validators: []validator.String{duration{}}}
}

// TimeoutOf returns a timeout attribute's value; the validator has seen to it that it
// can be read.
func TimeoutOf(s types.String, otherwise time.Duration) time.Duration {
	if d, err := time.ParseDuration(s.ValueString()); err == nil {
		return d
	}
	return otherwise
}

// duration is a validator of lengths of time.
type duration struct{}

// Description reports what is accepted.
func (duration) Description(context.Context) string {
	return "value must be a duration above zero, such as 90m or 2h"
}

// MarkdownDescription is the same as Description.
func (d duration) MarkdownDescription(ctx context.Context) string { return d.Description(ctx) }

// ValidateString refuses what is no length of time.
func (d duration) ValidateString(ctx context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if got, err := time.ParseDuration(req.ConfigValue.ValueString()); err != nil || got <= 0 {
		resp.Diagnostics.AddAttributeError(req.Path, "Unable to read the duration "+req.ConfigValue.String(), "The "+d.Description(ctx)+".")
	}
}
