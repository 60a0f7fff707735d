// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesetsdata

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// model is the data source as it is in configuration and state.
type model struct {
	Namespace   types.String `tfsdk:"namespace"`
	Selector    types.String `tfsdk:"selector"`
	MachineSets []setModel   `tfsdk:"machine_sets"`
}

type setModel struct {
	Namespace  types.String            `tfsdk:"namespace"`
	Name       types.String            `tfsdk:"name"`
	Labels     map[string]types.String `tfsdk:"labels"`
	Role       types.String            `tfsdk:"role"`
	Replicas   types.Int64             `tfsdk:"replicas"`
	Autoscaler *autoscalerModel        `tfsdk:"autoscaler"`
	Taints     []taintModel            `tfsdk:"taints"`
	Machines   []machineModel          `tfsdk:"machines"`
	Rollout    *rolloutModel           `tfsdk:"rollout"`
}

type autoscalerModel struct {
	Name types.String `tfsdk:"name"`
	Min  types.Int64  `tfsdk:"min"`
	Max  types.Int64  `tfsdk:"max"`
}

type taintModel struct {
	Key    types.String `tfsdk:"key"`
	Value  types.String `tfsdk:"value"`
	Effect types.String `tfsdk:"effect"`
	Owner  types.String `tfsdk:"owner"`
}

type machineModel struct {
	Name        types.String      `tfsdk:"name"`
	Phase       types.String      `tfsdk:"phase"`
	Deleting    types.Bool        `tfsdk:"deleting"`
	Error       types.String      `tfsdk:"error"`
	Node        types.String      `tfsdk:"node"`
	Zone        types.String      `tfsdk:"zone"`
	Differences []differenceModel `tfsdk:"differences"`
}

type differenceModel struct {
	On         types.String `tfsdk:"on"`
	Difference types.String `tfsdk:"difference"`
	Key        types.String `tfsdk:"key"`
	Value      types.String `tfsdk:"value"`
	Effect     types.String `tfsdk:"effect"`
}

type rolloutModel struct {
	Owner     types.String `tfsdk:"owner"`
	Strategy  types.String `tfsdk:"strategy"`
	Replicas  types.Int64  `tfsdk:"replicas"`
	StartedAt types.String `tfsdk:"started_at"`
}

// Values of on.
const (
	onMachine = "machine"
	onNode    = "node"
)

// fromObserved makes the result for one MachineSet.
func fromObserved(o machineset.Observed) setModel {
	s := o.Set
	m := setModel{
		Namespace: types.StringValue(s.Namespace), Name: types.StringValue(s.Name), Labels: make(map[string]types.String, len(s.Labels)),
		Role: tfschema.OrNull(s.Role), Replicas: types.Int64Value(int64(s.Replicas)),
		Taints: make([]taintModel, 0, len(s.Taints)), Machines: make([]machineModel, 0, len(o.Machines)),
	}
	for _, name := range slices.Sorted(maps.Keys(s.Labels)) {
		m.Labels[name] = types.StringValue(s.Labels[name])
	}
	if b := s.Autoscaler; b != nil {
		m.Autoscaler = &autoscalerModel{Name: tfschema.OrNull(b.Owner), Min: types.Int64Value(int64(b.Min)), Max: types.Int64Value(int64(b.Max))}
	}
	// The snapshot is shared: it is not sorted in place.
	for _, t := range taint.Sort(slices.Clone(s.Taints)) {
		m.Taints = append(m.Taints, fromTaint(t, s.Record))
	}
	for _, machine := range slices.SortedFunc(slices.Values(o.Machines), func(a, b *machineset.Machine) int { return strings.Compare(a.Name, b.Name) }) {
		m.Machines = append(m.Machines, fromMachine(o, machine))
	}
	if r := s.Marker; r != nil {
		m.Rollout = &rolloutModel{
			Owner: types.StringValue(r.ID), Strategy: types.StringValue(string(r.Strategy)),
			Replicas: types.Int64Value(int64(r.OriginalReplicas)), StartedAt: types.StringValue(r.StartedAt.UTC().Format(time.RFC3339)),
		}
	}
	return m
}

func fromTaint(t corev1.Taint, record taint.Record) taintModel {
	m := taintModel{Key: types.StringValue(t.Key), Value: tfschema.OrNull(t.Value), Effect: types.StringValue(string(t.Effect))}
	if mark, marked := record.Of(taint.IDOf(t)); marked {
		m.Owner = types.StringValue(mark.Owner)
	}
	return m
}

func fromMachine(o machineset.Observed, machine *machineset.Machine) machineModel {
	m := machineModel{
		Name: types.StringValue(machine.Name), Phase: tfschema.OrNull(machine.Phase), Deleting: types.BoolValue(machine.Deleting),
		Error: tfschema.OrNull(machine.Error), Node: tfschema.OrNull(machine.Node), Differences: []differenceModel{},
	}
	if n := o.Nodes[machine.Node]; n != nil {
		m.Zone = tfschema.OrNull(n.Labels[corev1.LabelTopologyZone])
	}
	for _, d := range machineset.Differences(o, machine) {
		on := onMachine
		if d.OnNode {
			on = onNode
		}
		m.Differences = append(m.Differences, differenceModel{
			On: types.StringValue(on), Difference: types.StringValue(string(d.How)),
			Key: types.StringValue(d.Taint.Key), Value: tfschema.OrNull(d.Taint.Value), Effect: types.StringValue(string(d.Taint.Effect)),
		})
	}
	return m
}
