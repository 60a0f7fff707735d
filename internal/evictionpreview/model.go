// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// model is the data source as configuration and state have it.
type model struct {
	NodeName          types.String `tfsdk:"node_name"`
	NodeSelector      types.String `tfsdk:"node_selector"`
	MachineSets       types.Object `tfsdk:"machine_sets"`
	Taints            types.Set    `tfsdk:"taints"`
	AbsentTaints      types.Set    `tfsdk:"absent_taints"`
	AddedTolerations  types.List   `tfsdk:"added_tolerations"`
	IncludeUnaffected types.Bool   `tfsdk:"include_unaffected"`

	Pods      []podModel      `tfsdk:"pods"`
	Workloads []workloadModel `tfsdk:"workloads"`
	Summary   *summaryModel   `tfsdk:"summary"`
	Markdown  types.String    `tfsdk:"markdown"`
}

// addedModel is tolerations that a workload would have.
type addedModel struct {
	Kind        types.String `tfsdk:"kind"`
	Namespace   types.String `tfsdk:"namespace"`
	Name        types.String `tfsdk:"name"`
	Tolerations types.Set    `tfsdk:"tolerations"`
}

type podModel struct {
	Namespace     types.String `tfsdk:"namespace"`
	Name          types.String `tfsdk:"name"`
	Node          types.String `tfsdk:"node"`
	Owner         types.String `tfsdk:"owner"`
	Verdict       types.String `tfsdk:"verdict"`
	AfterSeconds  types.Int64  `tfsdk:"after_seconds"`
	Taint         types.String `tfsdk:"taint"`
	Toleration    types.String `tfsdk:"toleration"`
	Reason        types.String `tfsdk:"reason"`
	Lost          types.Bool   `tfsdk:"lost"`
	Placement     types.String `tfsdk:"placement"`
	Reschedulable types.Bool   `tfsdk:"reschedulable"`
	Budget        types.String `tfsdk:"budget"`
	LocalData     types.Bool   `tfsdk:"local_data"`
}

type workloadModel struct {
	Namespace    types.String `tfsdk:"namespace"`
	Kind         types.String `tfsdk:"kind"`
	Name         types.String `tfsdk:"name"`
	EvictedNow   types.Int64  `tfsdk:"evicted_now"`
	EvictedAfter types.Int64  `tfsdk:"evicted_after"`
	Drained      types.Int64  `tfsdk:"drained"`
	Stays        types.Int64  `tfsdk:"stays"`
	Unknown      types.Int64  `tfsdk:"unknown"`
	Fits         types.Int64  `tfsdk:"fits"`
	Pending      types.Int64  `tfsdk:"pending"`
	PendingMax   types.Int64  `tfsdk:"pending_max"`
	Preempted    types.Int64  `tfsdk:"preempted"`
}

type summaryModel struct {
	Stays            types.Int64 `tfsdk:"stays"`
	EvictedNow       types.Int64 `tfsdk:"evicted_now"`
	EvictedAfter     types.Int64 `tfsdk:"evicted_after"`
	Drained          types.Int64 `tfsdk:"drained"`
	Unknown          types.Int64 `tfsdk:"unknown"`
	Lost             types.Int64 `tfsdk:"lost"`
	Pending          types.Int64 `tfsdk:"pending"`
	PendingMax       types.Int64 `tfsdk:"pending_max"`
	Preempted        types.Int64 `tfsdk:"preempted"`
	NotReschedulable types.Int64 `tfsdk:"not_reschedulable"`
}

// target returns which nodes are meant.
func (m *model) target(diags *diag.Diagnostics) planner.Target {
	if m.NodeSelector.IsNull() {
		return planner.Target{Name: m.NodeName.ValueString()}
	}
	selector, err := labels.Parse(m.NodeSelector.ValueString())
	if err != nil {
		diags.Append(fw.NoSelector(path.Root("node_selector"), m.NodeSelector.ValueString(), err))
	}
	return planner.Target{Selector: selector}
}

// added returns the tolerations that are imagined, by workload. An object by
// which an operator takes tolerations stands for what the operator makes of it.
func (m *model) added(ctx context.Context, diags *diag.Diagnostics) map[snapshot.WorkloadKey]eviction.Planned {
	out := map[snapshot.WorkloadKey]eviction.Planned{}
	var added []addedModel
	diags.Append(m.AddedTolerations.ElementsAs(ctx, &added, false)...)
	for _, a := range added {
		tolerations, _ := fw.Tolerations(ctx, a.Tolerations, diags)
		ref := workload.Ref{Kind: a.Kind.ValueString(), Namespace: a.Namespace.ValueString(), Name: a.Name.ValueString()}
		kind, known := workload.Lookup("", ref.Kind)
		ref.APIVersion = kind.APIVersion
		for _, key := range followers(ref, kind, known) {
			out[key] = eviction.Planned{After: append(out[key].After, tolerations...), Sure: true}
		}
	}
	return out
}

// followers are the workloads whose pods follow from an object.
func followers(ref workload.Ref, kind workload.Kind, known bool) []snapshot.WorkloadKey {
	if known && kind.Operand != nil {
		return []snapshot.WorkloadKey{kind.Operand(ref.Name)}
	}
	var out []snapshot.WorkloadKey
	for _, one := range ref.Each() {
		component, _ := workload.ComponentOf(one)
		out = append(out, component.Pods...)
	}
	if len(out) == 0 {
		return []snapshot.WorkloadKey{ref.Owner()}
	}
	return out
}

// take fills in the results.
func (m *model) take(change whatIf) {
	all := m.IncludeUnaffected.ValueBool()
	m.Pods, m.Workloads = []podModel{}, []workloadModel{}
	homeless := 0
	for _, v := range change.report.Pods {
		p := fromVerdict(change.report, v)
		if v.Leaves() && !p.Reschedulable.ValueBool() {
			homeless++
		}
		if all || !v.Plain() {
			m.Pods = append(m.Pods, p)
		}
	}
	for _, w := range change.report.Workloads() {
		if all || notable(w) {
			m.Workloads = append(m.Workloads, fromWorkload(w))
		}
	}
	m.Summary = fromSummary(change.report.Summary(), homeless)
	m.Markdown = types.StringValue(change.markdown())
}

// notable reports whether there is something to tell about a workload.
func notable(w eviction.Workload) bool {
	return w.Summary.Preempted.Max > 0 || slices.ContainsFunc(w.Pods, func(v eviction.PodVerdict) bool { return !v.Plain() })
}

func fromVerdict(report *eviction.Report, v eviction.PodVerdict) podModel {
	m := podModel{
		Namespace: types.StringValue(v.Pod.Namespace), Name: types.StringValue(v.Pod.Name), Node: types.StringValue(v.Pod.Node),
		Owner: orNull(v.Owner.String()), Verdict: types.StringValue(string(v.Verdict)),
		Reason: types.StringValue(report.Why(v)), Lost: types.BoolValue(v.Lost), Placement: orNull(report.Placement(v)),
		Reschedulable: types.BoolValue(!v.NoPlace && (report.Placement(v) != "pending" || len(report.Awaits(v)) > 0)),
		Budget:        orNull(v.Budget), LocalData: types.BoolValue(v.Pod.LocalData),
	}
	if v.Verdict == eviction.EvictedAfter {
		m.AfterSeconds = types.Int64Value(v.AfterSeconds)
	}
	if v.Taint != nil {
		m.Taint = types.StringValue(taint.Format(*v.Taint))
	}
	if v.Toleration != nil {
		m.Toleration = types.StringValue(taint.FormatToleration(*v.Toleration))
	}
	return m
}

func fromWorkload(w eviction.Workload) workloadModel {
	s := w.Summary
	return workloadModel{
		Namespace: types.StringValue(w.Namespace), Kind: types.StringValue(w.Owner.Kind), Name: types.StringValue(w.Owner.Name),
		EvictedNow: number(s.EvictedNow), EvictedAfter: number(s.EvictedAfter), Drained: number(s.Drained),
		Stays: number(s.Stays), Unknown: number(s.Unknown),
		Fits: number(w.Outcome.Placed.Min), Pending: number(s.Pending.Min), PendingMax: number(s.Pending.Max), Preempted: number(s.Preempted.Max),
	}
}

func fromSummary(s eviction.Summary, homeless int) *summaryModel {
	return &summaryModel{
		Stays: number(s.Stays), EvictedNow: number(s.EvictedNow), EvictedAfter: number(s.EvictedAfter),
		Drained: number(s.Drained), Unknown: number(s.Unknown),
		Lost: number(s.Lost), Pending: number(s.Pending.Min), PendingMax: number(s.Pending.Max), Preempted: number(s.Preempted.Max),
		NotReschedulable: number(homeless),
	}
}

func number(n int) types.Int64 { return types.Int64Value(int64(n)) }

// orNull makes a string; an empty one is null.
func orNull(s string) types.String {
	if s == "" {
		return types.StringNull()
	}
	return types.StringValue(s)
}
