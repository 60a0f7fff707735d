// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package managed

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	tflist "github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
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

// Selected reads the configuration of a list into a model that has a selector, and connects. It returns the id of the cluster, and is false after
// an error.
func Selected(ctx context.Context, data *session.Data, req tflist.ListRequest, model any, selector *types.String, diags *diag.Diagnostics) (selected labels.Selector, cluster string, ok bool) {
	diags.Append(req.Config.Get(ctx, model)...)
	selected, err := labels.Parse(selector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("selector"), selector.ValueString(), err))
	}
	if diags.HasError() {
		return nil, "", false
	}
	cluster, ok = data.Connected(ctx, "", diags)
	return selected, cluster, ok
}
