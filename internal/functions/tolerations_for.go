// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

type tolerationsFor struct{}

// NewTolerationsFor returns the function that makes the tolerations for taints.
func NewTolerationsFor() function.Function { return &tolerationsFor{} }

// Metadata names the function.
func (*tolerationsFor) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "tolerations_for"
}

// Definition describes the function.
func (*tolerationsFor) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Make the tolerations that match taints",
		MarkdownDescription: "Returns for each taint the narrowest toleration that matches it forever, in the same order. Each is an object `{ key, operator, value, effect, toleration_seconds }` with the taint's key, value and effect and the operator `Equal`. `toleration_seconds` is null, so that pods may stay forever, and `value` is null where the taint has none. " +
			"It fits workloads' pod templates and the function `tolerates`." + taintRules + nullIsEmpty,
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "taints", AllowNullValue: true, MarkdownDescription: taintsDescription},
		},
		Return: function.ListReturn{ElementType: tolerationType},
	}
}

// Run makes the tolerations.
func (*tolerationsFor) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var list types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &list); resp.Error != nil {
		return
	}
	if !known(ctx, list) {
		resp.Error = resp.Result.Set(ctx, types.ListUnknown(tolerationType))
		return
	}
	taints, err := argument{0, "taints"}.taints(list)
	if err != nil {
		resp.Error = err
		return
	}
	objects := []attr.Value{}
	for _, t := range taints {
		objects = append(objects, tolerationObject(taint.TolerationFor(t)))
	}
	resp.Error = resp.Result.Set(ctx, types.ListValueMust(tolerationType, objects))
}
