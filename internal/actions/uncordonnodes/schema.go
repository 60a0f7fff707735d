// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/action/schema"
	"github.com/hashicorp/terraform-plugin-framework/types"

	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the action as it is in the configuration.
type model struct {
	NodeName     types.String `tfsdk:"node_name"`
	NodeSelector types.String `tfsdk:"node_selector"`
	Timeout      types.String `tfsdk:"timeout"`
}

// Schema describes the action.
func (*uncordonNodes) Schema(_ context.Context, _ action.SchemaRequest, resp *action.SchemaResponse) {
	resp.Schema = schema.Schema{
		MarkdownDescription: "Uncordons a node, or all nodes matching a selector, so that they take new pods again, as `kubectl uncordon` does. It gives up an interrupted drain: the record of that drain on the node is removed.",
		Attributes: map[string]schema.Attribute{
			"node_name":     tfschema.NodeNameAttribute(),
			"node_selector": tfschema.NodeSelectorAttribute("Label selector of the nodes, all of which are uncordoned."),
			"timeout":       tfschema.TimeoutAttribute("How long the writes to all nodes may take, such as `10m`. Default: `5m`."),
		},
	}
}

// ConfigValidators reports which attributes go together.
func (*uncordonNodes) ConfigValidators(context.Context) []action.ConfigValidator {
	return tfschema.NameOrSelector()
}
