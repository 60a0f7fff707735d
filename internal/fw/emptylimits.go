// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// LimitsValidators are those of an evictions block.
var LimitsValidators = []validator.Object{setsSomething{"evictions", " sets no limit", "max_pods, max_pending, max_lost, protected_namespaces, protected_selector, only, stranded"}}

// timeoutsValidators are those of a timeouts block.
var timeoutsValidators = []validator.Object{setsSomething{"timeouts", " sets no time", "create, update, delete"}}

// setsSomething warns of a block that sets nothing: Terraform drops attributes that it does not know, so
// that a name which is misspelt arrives as none.
type setsSomething struct {
	// block sets things that have these names. nothing ends the summary where it sets none.
	block, nothing, names string
}

// Description reports what is expected.
func (v setsSomething) Description(context.Context) string {
	return "must set at least one of: " + v.names
}

// MarkdownDescription reports what is expected.
func (v setsSomething) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateObject adds a warning at the block where all of its attributes are null.
func (v setsSomething) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	for _, value := range req.ConfigValue.Attributes() {
		if !attr.Value.IsNull(value) {
			return
		}
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, v.block+ofWhich(ctx, req.Config)+v.nothing,
		"Terraform drops unknown names without an error. Check the spelling ("+v.names+"), or leave out "+v.block+".")
}
