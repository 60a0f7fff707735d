// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadsdata

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// model is the data source as it is in configuration and state.
type model struct {
	Taints     types.Set       `tfsdk:"taints"`
	Namespaces types.Set       `tfsdk:"namespaces"`
	Selector   types.String    `tfsdk:"selector"`
	Workloads  []workloadModel `tfsdk:"workloads"`
}

type workloadModel struct {
	Namespace  types.String `tfsdk:"namespace"`
	Kind       types.String `tfsdk:"kind"`
	Name       types.String `tfsdk:"name"`
	Pods       types.Int64  `tfsdk:"pods"`
	PodsDiffer types.Bool   `tfsdk:"pods_differ"`
	Tolerates  types.Bool   `tfsdk:"tolerates"`
	ForSeconds types.Int64  `tfsdk:"for_seconds"`
	Uncertain  types.Bool   `tfsdk:"uncertain"`
	Taints     []taintModel `tfsdk:"taints"`
}

type taintModel struct {
	Taint      types.String   `tfsdk:"taint"`
	Tolerates  types.Bool     `tfsdk:"tolerates"`
	ForSeconds types.Int64    `tfsdk:"for_seconds"`
	Uncertain  types.Bool     `tfsdk:"uncertain"`
	Toleration types.String   `tfsdk:"toleration"`
	Shadowed   []types.String `tfsdk:"shadowed"`
}

// concerns returns which pods are asked.
func (m *model) concerns(ctx context.Context, diags *diag.Diagnostics) func(*snapshot.Pod) bool {
	selector, err := labels.Parse(m.Selector.ValueString())
	if err != nil {
		diags.Append(fw.NoSelector(path.Root("selector"), m.Selector.ValueString(), err))
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

// take fills in the results.
func (m *model) take(answers []eviction.WorkloadAnswer) {
	m.Workloads = make([]workloadModel, 0, len(answers))
	for _, a := range answers {
		m.Workloads = append(m.Workloads, fromWorkload(a))
	}
}

func fromWorkload(a eviction.WorkloadAnswer) workloadModel {
	m := workloadModel{
		Namespace: types.StringValue(a.Namespace), Kind: types.StringValue(a.Kind), Name: types.StringValue(a.Name),
		Pods: types.Int64Value(int64(a.Pods)), PodsDiffer: types.BoolValue(a.Differ),
		Tolerates: types.BoolValue(a.Lasts != toleration.Untolerated), ForSeconds: forSeconds(a.Lasts), Uncertain: types.BoolValue(a.Uncertain),
		Taints: make([]taintModel, 0, len(a.Taints)),
	}
	for _, one := range a.Taints {
		m.Taints = append(m.Taints, fromTaint(one))
	}
	return m
}

func fromTaint(a eviction.TaintAnswer) taintModel {
	m := taintModel{
		Taint: types.StringValue(taint.Format(a.Taint)), Tolerates: types.BoolValue(a.Lasts != toleration.Untolerated),
		ForSeconds: forSeconds(a.Lasts), Uncertain: types.BoolValue(a.Uncertain), Shadowed: texts(a.Shadowed),
	}
	if a.Toleration != nil {
		m.Toleration = types.StringValue(taint.FormatToleration(*a.Toleration))
	}
	return m
}

// forSeconds is null for ever, so that nothing else is: a condition on it alone
// must not take what is not tolerated at all for the best.
func forSeconds(lasts int64) types.Int64 {
	if lasts == toleration.Forever {
		return types.Int64Null()
	}
	return types.Int64Value(max(lasts, 0))
}

func texts(tolerations []corev1.Toleration) []types.String {
	out := make([]types.String, len(tolerations))
	for i, t := range tolerations {
		out[i] = types.StringValue(taint.FormatToleration(t))
	}
	return out
}
