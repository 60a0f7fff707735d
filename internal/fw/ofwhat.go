// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// targets are the attributes that name the objects of a resource, in the order of an id.
var targets = []path.Path{
	path.Root("node_name"), path.Root("node_selector"), path.Root("namespace"), path.Root("name"), path.Root("selector"),
	path.Root("workload").AtName("kind"), path.Root("workload").AtName("namespace"), path.Root("workload").AtName("name"), path.Root("workload").AtName("selector"),
}

// ofWhat returns " of " and the objects that a configuration names, "" if it names none or if they are
// not known yet. A validator has no id of its resource, and two resources with the same fault must not
// warn with the same summary: see Distinguish. Two that name the same objects still do.
func ofWhat(ctx context.Context, config tfsdk.Config) string {
	var parts []string
	if config.Schema == nil {
		return ""
	}
	for _, at := range targets {
		var value types.String
		if diags := config.GetAttribute(ctx, at, &value); !diags.HasError() && value.ValueString() != "" {
			parts = append(parts, value.ValueString())
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf(" of %q", strings.Join(parts, "/"))
}
