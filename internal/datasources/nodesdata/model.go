// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodesdata

import (
	"slices"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the data source as it is in configuration and state.
type model struct {
	Selector types.String `tfsdk:"selector"`
	Taint    *filter      `tfsdk:"taint"`
	Nodes    []nodeModel  `tfsdk:"nodes"`
}

// filter is a taint that nodes must carry.
type filter struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
}

type nodeModel struct {
	Name    types.String            `tfsdk:"name"`
	Labels  map[string]types.String `tfsdk:"labels"`
	Taints  []taintModel            `tfsdk:"taints"`
	Machine types.String            `tfsdk:"machine"`
}

type taintModel struct {
	Key       types.String `tfsdk:"key"`
	Value     types.String `tfsdk:"value"`
	Effect    types.String `tfsdk:"effect"`
	TimeAdded types.String `tfsdk:"time_added"`
	Owner     types.String `tfsdk:"owner"`
}

// matches reports whether a taint is the one that is asked for; without a filter
// none is asked for.
func (f *filter) matches(t corev1.Taint) bool {
	return t.Key == f.Key.ValueString() &&
		(f.Value.IsNull() || t.Value == f.Value.ValueString()) &&
		(f.Effect.IsNull() || string(t.Effect) == f.Effect.ValueString())
}

// pick returns the nodes that the selector and the filter ask for, in the
// order given.
func pick(all []*snapshot.Node, selector labels.Selector, f *filter) []*snapshot.Node {
	var out []*snapshot.Node
	for _, n := range all {
		if selector.Matches(labels.Set(n.Labels)) && (f == nil || slices.ContainsFunc(n.Taints, f.matches)) {
			out = append(out, n)
		}
	}
	return out
}

// fromNode makes the result for one node.
func fromNode(n *snapshot.Node) nodeModel {
	m := nodeModel{
		Name: types.StringValue(n.Name), Labels: make(map[string]types.String, len(n.Labels)),
		Taints: make([]taintModel, 0, len(n.Taints)), Machine: tfschema.OrNull(n.Machine),
	}
	for k, v := range n.Labels {
		m.Labels[k] = types.StringValue(v)
	}
	// The snapshot is shared: it is not sorted in place.
	for _, t := range taint.Sort(slices.Clone(n.Taints)) {
		one := taintModel{Key: types.StringValue(t.Key), Value: tfschema.OrNull(t.Value), Effect: types.StringValue(string(t.Effect))}
		if t.TimeAdded != nil {
			one.TimeAdded = types.StringValue(t.TimeAdded.UTC().Format(time.RFC3339))
		}
		// The mark of a taint that should be absent is no owner of one that
		// another writer has put there again.
		if mark, marked := n.Record.Of(taint.IDOf(t)); marked && !mark.Absent {
			one.Owner = types.StringValue(mark.Owner)
		}
		m.Taints = append(m.Taints, one)
	}
	return m
}
