// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// LimitsValidators are those of an evictions block.
var LimitsValidators = []validator.Object{setsSomething{"evictions", "", " sets no limit"}}

// ProviderLimitsValidators are those of the provider's evictions block.
var ProviderLimitsValidators = []validator.Object{setsSomething{"evictions", ` of provider "kubetaint"`, " sets no limit"}}

// timeoutsValidators are those of a timeouts block.
var timeoutsValidators = []validator.Object{setsSomething{"timeouts", "", " sets no time"}}

// setsSomething warns of a block that sets nothing: Terraform drops attributes that it does not know, so
// that a name which is misspelt arrives as none.
type setsSomething struct {
	// of is what the block is of, where its target and entries do not tell. nothing ends the summary where the block
	// sets none of its attributes.
	block, of, nothing string
}

// Description reports what is expected.
func (v setsSomething) Description(context.Context) string {
	return "must set at least one attribute of " + v.block
}

// MarkdownDescription reports what is expected.
func (v setsSomething) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateObject adds a warning at the block where all of its attributes are null.
func (v setsSomething) ValidateObject(ctx context.Context, req validator.ObjectRequest, resp *validator.ObjectResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	attributes := req.ConfigValue.Attributes()
	for _, value := range attributes {
		if !attr.Value.IsNull(value) {
			return
		}
	}
	resp.Diagnostics.AddAttributeWarning(req.Path, v.block+cmp.Or(v.of, ofWhich(ctx, req.Config))+v.nothing,
		"Terraform drops unknown names without an error. Check the spelling ("+strings.Join(slices.Sorted(maps.Keys(attributes)), ", ")+"), or leave out "+v.block+".")
}
