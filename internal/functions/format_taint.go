// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

type formatTaint struct{}

// NewFormatTaint returns the function that writes kubectl's notation.
func NewFormatTaint() function.Function { return &formatTaint{} }

// Metadata names the function.
func (*formatTaint) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "format_taint"
}

// Definition describes the function.
func (*formatTaint) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary:             "Write a taint in kubectl's notation",
		MarkdownDescription: "Writes a taint in kubectl's notation: `key=value:Effect`, or `key:Effect` if it has no value. It is the inverse of `parse_taint`." + taintRules,
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "taint", MarkdownDescription: taintDescription},
		},
		Return: function.StringReturn{},
	}
}

// Run writes the taint.
func (*formatTaint) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var object types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &object); resp.Error != nil {
		return
	}
	if !known(ctx, object) {
		resp.Error = resp.Result.Set(ctx, types.StringUnknown())
		return
	}
	t, err := argument{0, "taint"}.taint(object)
	if err != nil {
		resp.Error = err
		return
	}
	resp.Error = resp.Result.Set(ctx, taint.Format(t))
}
