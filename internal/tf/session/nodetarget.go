// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// NodeTarget returns which nodes node_name or node_selector mean; false while that is not known, and where
// neither is set.
func NodeTarget(name, selector types.String, diags *diag.Diagnostics) (planner.Target, bool) {
	if name.IsUnknown() || selector.IsUnknown() {
		return planner.Target{}, false
	}
	if selector.IsNull() {
		return planner.Target{Name: name.ValueString()}, !name.IsNull()
	}
	parsed, err := labels.Parse(selector.ValueString())
	if err != nil {
		diags.Append(tfschema.NoSelector(path.Root("node_selector"), selector.ValueString(), err))
		return planner.Target{}, false
	}
	return planner.Target{Selector: parsed}, true
}
