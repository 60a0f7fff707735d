// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// Every function has the same shape.
var (
	_ function.Function = (*parseTaint)(nil)
	_ function.Function = (*formatTaint)(nil)
	_ function.Function = (*tolerates)(nil)
	_ function.Function = (*untolerated)(nil)
	_ function.Function = (*tolerationsFor)(nil)
)

type parseTaint struct{}

// NewParseTaint returns the function that reads kubectl's notation.
func NewParseTaint() function.Function { return &parseTaint{} }

// Metadata names the function.
func (*parseTaint) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "parse_taint"
}

// Definition describes the function.
func (*parseTaint) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:             "Read a taint in kubectl's notation",
		MarkdownDescription: "Reads a taint in kubectl's notation, `key=value:Effect` or `key:Effect`, into an object `{ key, value, effect }`. An empty value is null. What Kubernetes would refuse is an error.",
		Parameters: []function.Parameter{
			function.StringParameter{Name: "text", MarkdownDescription: "Taint such as `dedicated=gpu:NoExecute`."},
		},
		Return: function.ObjectReturn{AttributeTypes: tfschema.TaintType.AttrTypes},
	}
}

// Run reads the taint.
func (*parseTaint) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var text types.String
	if resp.Error = req.Arguments.Get(ctx, &text); resp.Error != nil {
		return
	}
	if text.IsUnknown() {
		resp.Error = resp.Result.Set(ctx, types.ObjectUnknown(tfschema.TaintType.AttrTypes))
		return
	}
	t, err := taint.Parse(text.ValueString())
	if err != nil {
		resp.Error = argument{name: "text"}.errorf("text", "%s", err)
		return
	}
	resp.Error = resp.Result.Set(ctx, taintObject(t))
}
