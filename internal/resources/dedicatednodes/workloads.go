// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"fmt"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// workloadModel is one object of workloads.
type workloadModel struct {
	APIVersion        types.String         `tfsdk:"api_version"`
	Kind              types.String         `tfsdk:"kind"`
	Namespace         types.String         `tfsdk:"namespace"`
	Name              types.String         `tfsdk:"name"`
	Path              types.String         `tfsdk:"path"`
	TolerationSeconds tfschema.WholeNumber `tfsdk:"toleration_seconds"`
	Pin               types.Bool           `tfsdk:"pin"`
}

var workloadType = types.ObjectType{AttrTypes: map[string]attr.Type{
	"api_version": types.StringType, "kind": types.StringType, "namespace": types.StringType, "name": types.StringType,
	"path": types.StringType, "toleration_seconds": tfschema.WholeNumberType{}, "pin": types.BoolType,
}}

// member is one workload, what it is to have, and what of it may be called owned.
type member struct {
	session.WorkloadTarget
	claim toleration.Claim
	pin   label.Claim
	at    message.WorkloadAt
	// left is set for one that is not meant any more.
	left bool
}

// key tells members apart.
func (m member) key() string {
	return m.Grouped() + "#" + m.ClaimPath
}

// known reports whether every part of the object is known.
func (m workloadModel) known() bool {
	return !m.APIVersion.IsUnknown() && !m.Kind.IsUnknown() && !m.Namespace.IsUnknown() && !m.Name.IsUnknown() &&
		!m.Path.IsUnknown() && !m.TolerationSeconds.IsUnknown() && !m.Pin.IsUnknown()
}

// workloads reads the list; false while any part of it is not known.
func (m model) workloads(ctx context.Context, diags *diag.Diagnostics) ([]workloadModel, bool) {
	if m.Workloads.IsUnknown() {
		return nil, false
	}
	for _, element := range m.Workloads.Elements() {
		if element.IsUnknown() {
			return nil, false
		}
	}
	var models []workloadModel
	if !m.Workloads.IsNull() {
		diags.Append(m.Workloads.ElementsAs(ctx, &models, false)...)
	}
	for _, one := range models {
		if !one.known() {
			return nil, false
		}
	}
	return models, !diags.HasError()
}

// attributes are where the object at an index stands.
func attributes(index int) message.WorkloadAt {
	at := path.Root("workloads").AtListIndex(index)
	return message.WorkloadAt{Workload: at, Path: at.AtName("path"), Tolerations: at, Pin: at.AtName("pin")}
}

// members resolves one object, and reports what it is to have: several workloads where it has components.
// The labels are what its pods require where it is pinned.
func (m workloadModel) members(index int, taints []corev1.Taint, labels label.Claim, diags *diag.Diagnostics) ([]member, bool) {
	one, ok := m.member(index, taints, labels, diags)
	if !ok {
		return []member{one}, false
	}
	var out []member
	for _, target := range one.Each() {
		part := one
		part.WorkloadTarget = target
		out = append(out, part)
	}
	return out, true
}

// member resolves one object, and reports what it is to have. The labels are what
// its template requires where it is pinned.
func (m workloadModel) member(index int, taints []corev1.Taint, labels label.Claim, diags *diag.Diagnostics) (member, bool) {
	out := member{at: attributes(index), pin: labels}
	ref := workload.Ref{APIVersion: m.APIVersion.ValueString(), Kind: m.Kind.ValueString(), Namespace: m.Namespace.ValueString(), Name: m.Name.ValueString()}
	resolved, ok := session.ResolveWorkload(ref, m.Path.ValueString(), out.at, diags)
	out.WorkloadTarget = resolved
	out.claim = toleration.Claim{Owner: labels.Owner, Generation: labels.Generation, Seal: labels.Seal, Path: resolved.ClaimPath}
	for _, t := range taints {
		out.claim.Tolerations = append(out.claim.Tolerations, tolerationFor(t, m.TolerationSeconds))
	}
	if !m.Pin.ValueBool() {
		out.pin.Labels = nil
		return out, ok
	}
	if kind, known := workload.Lookup(resolved.APIVersion, resolved.Kind); ok && (!known || resolved.ClaimPath != "" || kind.Selector == nil) {
		diags.AddAttributeError(out.at.Pin, "Unable to pin "+ref.Title(),
			"The path of the node selector is not built in for objects of kind "+ref.Kind+beside(known)+". Leave out pin, and set where its pods run in the object itself.")
		ok = false
	}
	if len(labels.Labels) == 0 {
		diags.AddAttributeError(out.at.Pin, "Unable to pin "+ref.Title()+" without labels",
			"Pods are pinned by requiring the labels of the nodes, and labels is empty. Add a label, or leave out pin.")
		ok = false
	}
	return out, ok
}

// beside words that a kind which is known has its list elsewhere.
func beside(known bool) string {
	if known {
		return " that goes with path"
	}
	return ""
}

// rollout is the change of a member, by reference, for the actor. One that is not
// meant any more leaves the nodes even where it could live there: its pods are
// made anew elsewhere, one rollout after the other. On destroy the nodes are
// open again, and what pods need for other nodes stays.
func (m member) rollout() rollout.Tolerations {
	return rollout.Tolerations{Ref: m.Ref, Path: m.Path, Claim: m.claim, Pin: m.pin, RemoveImmediately: m.left}
}

// planned is the same for the planner.
func (m member) planned(w *workload.Workload) planner.Tolerations {
	return planner.Tolerations{Workload: w, Claim: m.claim, Pin: m.pin, RemoveImmediately: m.left}
}

// refuseTwice adds an error for a workload that the list names twice.
func refuseTwice(members []member, diags *diag.Diagnostics) {
	seen := map[string]bool{}
	for _, m := range members {
		if seen[m.key()] {
			diags.AddAttributeError(m.at.Workload, "Unable to dedicate nodes to "+m.Title()+" twice", fmt.Sprintf("%s is in workloads more than once: keep one of them.", m.Title()))
		}
		seen[m.key()] = true
	}
}
