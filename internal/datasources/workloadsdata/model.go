// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the data source as it is in configuration and state.
type model struct {
	Taints     types.Set           `tfsdk:"taints"`
	Namespaces types.Set           `tfsdk:"namespaces"`
	Selector   types.String        `tfsdk:"selector"`
	Workloads  []preview.Tolerance `tfsdk:"workloads"`
}

// concerns returns which pods are asked.
func (m *model) concerns(ctx context.Context, diags *diag.Diagnostics) func(*snapshot.Pod) bool {
	selector, err := labels.Parse(m.Selector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("selector"), m.Selector.ValueString(), err))
		return nil
	}
	var namespaces []string
	if !m.Namespaces.IsNull() {
		diags.Append(m.Namespaces.ElementsAs(ctx, &namespaces, false)...)
	}
	return func(p *snapshot.Pod) bool {
		return (namespaces == nil || slices.Contains(namespaces, p.Namespace)) && selector.Matches(p.Labels)
	}
}
