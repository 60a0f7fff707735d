// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

type untolerated struct{}

// NewUntolerated returns the function that reports which taints no toleration
// matches.
func NewUntolerated() function.Function { return &untolerated{} }

// Metadata names the function.
func (*untolerated) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "untolerated"
}

// Definition describes the function.
func (*untolerated) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "List the taints that no toleration matches",
		MarkdownDescription: "Returns the taints that none of the tolerations matches, in their order, as objects `{ key, value, effect }`. Taints of every effect are returned, also `PreferNoSchedule`." +
			comparisonRule + tolerationRules + taintRules + nullIsEmpty,
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "taints", AllowNullValue: true, MarkdownDescription: taintsDescription},
			function.DynamicParameter{Name: "tolerations", AllowNullValue: true, MarkdownDescription: tolerationsDescription},
		},
		Return: function.ListReturn{ElementType: tfschema.TaintType},
	}
}

// Run matches the tolerations.
func (*untolerated) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var taintList, tolerationList types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &taintList, &tolerationList); resp.Error != nil {
		return
	}
	if !known(ctx, taintList, tolerationList) {
		resp.Error = resp.Result.Set(ctx, types.ListUnknown(tfschema.TaintType))
		return
	}
	taints, err := argument{0, "taints"}.taints(taintList)
	if err != nil {
		resp.Error = err
		return
	}
	tolerations, err := argument{1, "tolerations"}.tolerations(tolerationList)
	if err != nil {
		resp.Error = err
		return
	}
	objects := []attr.Value{}
	for _, t := range taint.Untolerated(taints, tolerations, comparison) {
		objects = append(objects, taintObject(t))
	}
	resp.Error = resp.Result.Set(ctx, types.ListValueMust(tfschema.TaintType, objects))
}
