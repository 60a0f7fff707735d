// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package tfschema

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework-validators/setvalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// OnlyValidators are those of the attribute only. An empty list is allowed: it approves no eviction.
var OnlyValidators = []validator.Set{setvalidator.NoNullValues(), setvalidator.ValueStringsAre(approvalEntry{})}

// approvalEntry checks an entry of the attribute only.
type approvalEntry struct{}

// Description reports what is allowed.
func (approvalEntry) Description(context.Context) string {
	return "must be namespace/Kind/name, such as shop/Deployment/web, shop/Deployment/* or shop/*"
}

// MarkdownDescription reports what is allowed.
func (v approvalEntry) MarkdownDescription(ctx context.Context) string { return v.Description(ctx) }

// ValidateString adds an error at the entry if it cannot be read.
func (approvalEntry) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if _, err := eviction.ParseApproval(req.ConfigValue.ValueString()); err != nil {
		resp.Diagnostics.Append(noApproval(req.Path, req.ConfigValue.ValueString(), err))
	}
}

func noApproval(at path.Path, entry string, err error) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(at, fmt.Sprintf("Unable to use %q in only of evictions", entry), "The entry cannot be read: "+err.Error()+".")
}

// approvalsOf returns the entries of the attribute only, not nil: an empty list is a limit too. The
// validator refuses wrong entries that are known in time.
func approvalsOf(ctx context.Context, only types.Set, diags *diag.Diagnostics) []eviction.Approval {
	var entries []string
	diags.Append(only.ElementsAs(ctx, &entries, false)...)
	out := make([]eviction.Approval, 0, len(entries))
	for _, entry := range entries {
		a, err := eviction.ParseApproval(entry)
		if err != nil {
			diags.Append(noApproval(path.Root("evictions").AtName(onlyThese), entry, err))
			continue
		}
		out = append(out, a)
	}
	return out
}
