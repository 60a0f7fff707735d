// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
)

// UnmanagedOnlyAttribute is the unmanaged_only attribute of a list resource.
func UnmanagedOnlyAttribute() schema.Attribute {
	return schema.BoolAttribute{
		Optional:            true,
		MarkdownDescription: "Whether to list only taints that no kubetaint resource owns. Default: `false`.",
	}
}

// Listed is one result of a list resource.
type Listed struct {
	DisplayName string
	// Identity and Resource are the models of the two.
	Identity, Resource any
}

// Stream hands out results, as many as are asked for, or what went wrong before there
// were any.
func Stream(ctx context.Context, req tflist.ListRequest, all []Listed, diags diag.Diagnostics) *tflist.ListResultsStream {
	if diags.HasError() {
		return &tflist.ListResultsStream{Results: tflist.ListResultsStreamDiagnostics(diags)}
	}
	return &tflist.ListResultsStream{Results: func(push func(tflist.ListResult) bool) {
		for i, one := range all {
			if req.Limit > 0 && int64(i) >= req.Limit {
				return
			}
			result := req.NewListResult(ctx)
			result.DisplayName = one.DisplayName
			result.Diagnostics.Append(result.Identity.Set(ctx, one.Identity)...)
			if req.IncludeResource {
				result.Diagnostics.Append(result.Resource.Set(ctx, one.Resource)...)
			}
			if !push(result) {
				return
			}
		}
	}}
}
