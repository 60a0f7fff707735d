// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// LimitsValidators are those of an evictions block.
var LimitsValidators = []validator.Object{someLimit{}}

// someLimit warns of a block that sets nothing: Terraform drops attributes that it does not know, so
// that a name which is misspelt arrives as none.
type someLimit struct{}

// Description reports what is expected.
func (someLimit) Description(context.Context) string { return "must set at least one limit" }

// MarkdownDescription reports what is expected.
func (v someLimit) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateObject adds a warning at the block where all of its attributes are null.
func (someLimit) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for _, value := range req.ConfigValue.Attributes() {
		if !attr.Value.IsNull(value) {
			return
		}
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, "evictions"+ofWhich(ctx, req.Config)+" sets no limit",
		"Terraform drops names that it does not know without a word. Check the spelling (max_pods, max_pending, max_lost, protected_namespaces, protected_selector, only, stranded), or leave out evictions.")
}
