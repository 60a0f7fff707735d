// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
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

	Pods      []preview.Pod      `tfsdk:"pods"`
	Workloads []preview.Workload `tfsdk:"workloads"`
	Summary   *preview.Summary   `tfsdk:"summary"`
	Markdown  types.String       `tfsdk:"markdown"`
}

// addedModel is tolerations that a workload would have.
type addedModel struct {
	Kind        types.String `tfsdk:"kind"`
	Namespace   types.String `tfsdk:"namespace"`
	Name        types.String `tfsdk:"name"`
	Tolerations types.Set    `tfsdk:"tolerations"`
}

// added returns the tolerations that are imagined, by workload. An object by
// which an operator takes tolerations stands for what the operator makes of it.
func (m *model) added(ctx context.Context, diags *diag.Diagnostics) map[snapshot.WorkloadKey]eviction.Planned {
	out := map[snapshot.WorkloadKey]eviction.Planned{}
	var added []addedModel
	diags.Append(m.AddedTolerations.ElementsAs(ctx, &added, false)...)
	for _, a := range added {
		tolerations, _ := tfschema.Tolerations(ctx, a.Tolerations, diags)
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

// machineSets returns the MachineSets that are meant, nil where nodes are.
func (m *model) machineSets(ctx context.Context, diags *diag.Diagnostics) *preview.MachineSets {
	in, there := tfschema.MachineSetsOf(ctx, m.MachineSets, diags)
	if !there {
		return nil
	}
	f := &preview.MachineSets{}
	f.Target, _ = in.Target(diags)
	f.Rollout, _ = tfschema.RolloutOf(ctx, in.Rollout, diags)
	return f
}

// take fills in the results.
func (m *model) take(change preview.WhatIf) {
	results := change.Results(m.IncludeUnaffected.ValueBool())
	m.Pods, m.Workloads, m.Summary, m.Markdown = results.Pods, results.Workloads, results.Summary, types.StringValue(results.Markdown)
}
