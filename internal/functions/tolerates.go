// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package functions

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Descriptions that functions share.
const (
	taintsDescription      = "Taints as a list, set or tuple of `{ key, value, effect }`."
	taintDescription       = "Taint as an object `{ key, value, effect }`."
	tolerationsDescription = "Tolerations as a list, set or tuple of `{ key, operator, value, effect, toleration_seconds }`."
)

// Paragraphs that functions share.
const (
	taintRules = "\n\nIn a taint, `value` may be null or left out. `owner` and `time_added`, as `kubetaint_nodes` returns them, are ignored. Any other attribute is an error."

	tolerationRules = "\n\nIn a toleration, each attribute may be null or left out, as in a pod. Without a key, every key is tolerated, and without an effect, every effect. " +
		"The default operator is `Equal`. `tolerationSeconds`, as in a manifest, is read as well. Any other attribute is an error."

	nullIsEmpty = "\n\nNull counts as an empty list."

	comparisonRule = "\n\nThe operators `Lt` and `Gt` count as not matching. Functions read no cluster, and the feature gate `TaintTolerationComparisonOperators` is off by default."

	// comparison is what comparisonRule describes.
	comparison = false
)

type tolerates struct{}

// NewTolerates returns the function that reports whether tolerations match a
// taint.
func NewTolerates() function.Function { return &tolerates{} }

// Metadata names the function.
func (*tolerates) Metadata(_ context.Context, _ function.MetadataRequest, resp *function.MetadataResponse) {
	resp.Name = "tolerates"
}

// Definition describes the function.
func (*tolerates) Definition(_ context.Context, _ function.DefinitionRequest, resp *function.DefinitionResponse) {
	resp.Definition = function.Definition{
		Summary: "Report whether tolerations match a taint",
		MarkdownDescription: "Reports whether any of the tolerations matches the taint, by Kubernetes' own rules. A toleration with `toleration_seconds` matches, although its pod is evicted when they are over." +
			comparisonRule + tolerationRules + taintRules + nullIsEmpty,
		Parameters: []function.Parameter{
			function.DynamicParameter{Name: "tolerations", AllowNullValue: true, MarkdownDescription: tolerationsDescription},
			function.DynamicParameter{Name: "taint", MarkdownDescription: taintDescription},
		},
		Return: function.BoolReturn{},
	}
}

// Run matches the tolerations.
func (*tolerates) Run(ctx context.Context, req function.RunRequest, resp *function.RunResponse) {
	var list, object types.Dynamic
	if resp.Error = req.Arguments.Get(ctx, &list, &object); resp.Error != nil {
		return
	}
	if !known(ctx, list, object) {
		resp.Error = resp.Result.Set(ctx, types.BoolUnknown())
		return
	}
	tolerations, err := argument{0, "tolerations"}.tolerations(list)
	if err != nil {
		resp.Error = err
		return
	}
	t, err := argument{1, "taint"}.taint(object)
	if err != nil {
		resp.Error = err
		return
	}
	resp.Error = resp.Result.Set(ctx, taint.FirstMatch(tolerations, t, comparison) >= 0)
}
