// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Planned returns the model in sync, as an apply leaves it, in the words of the state: an empty value and none, a
// selector written differently, a default that is written or not, or workloads in another order.
// Terraform allows a provider to keep such a prior value. What was done last is
// kept where nothing is left to do.
func (m model) Planned(ctx context.Context, state *model, own ownership, _ *diag.Diagnostics) model {
	m.Drift, m.Steps = noDrift(), types.ListUnknown(types.StringType)
	if state == nil {
		return m
	}
	if sameTaints(ctx, m.Taints, state.Taints) {
		m.Taints = state.Taints
	}
	if sameSelector(ctx, m, *state) {
		m.NodeSelector = state.NodeSelector
	}
	if sameSets(ctx, m.MachineSets, state.MachineSets) {
		m.MachineSets = state.MachineSets
	}
	if sameWorkloads(ctx, m, *state) {
		m.Workloads = state.Workloads
	}
	if sameAdmission(ctx, m, *state) {
		m.Admission = state.Admission
	}
	if len(state.Drift.Elements()) == 0 && m.same(*state) && !own.Drifted {
		m.Steps, m.Drift = state.Steps, state.Drift
	}
	return m
}

// sameTaints reports whether two sets mean the same taints; false where that is not known, or where there is none.
func sameTaints(ctx context.Context, a, b types.Set) bool {
	var ignored diag.Diagnostics
	one, known := tfschema.Taints(ctx, a, &ignored)
	other, too := tfschema.Taints(ctx, b, &ignored)
	return known && too && !a.IsNull() && !b.IsNull() && slices.Equal(one, other)
}

// sameSelector reports whether two models select the same nodes; false where that is not known, or where there is
// no selector.
func sameSelector(ctx context.Context, a, b model) bool {
	if a.NodeSelector.IsNull() || a.NodeSelector.IsUnknown() || b.NodeSelector.IsNull() {
		return false
	}
	var ignored diag.Diagnostics
	one, _ := a.target(ctx, &ignored)
	other, _ := b.target(ctx, &ignored)
	return one.Selector != nil && other.Selector != nil && one.String() == other.String()
}

// sameSets reports whether two objects mean the same MachineSets and the same rollout; false where that is not known,
// or where there is none.
func sameSets(ctx context.Context, a, b types.Object) bool {
	var ignored diag.Diagnostics
	one, there := tfschema.MachineSetsOf(ctx, a, &ignored)
	other, too := tfschema.MachineSetsOf(ctx, b, &ignored)
	if !there || !too {
		return false
	}
	target, known := one.Target(&ignored)
	stored, knownToo := other.Target(&ignored)
	rollout, rolloutKnown := tfschema.RolloutOf(ctx, one.Rollout, &ignored)
	had, hadKnown := tfschema.RolloutOf(ctx, other.Rollout, &ignored)
	return known && knownToo && rolloutKnown && hadKnown && rollout == had &&
		target.String() == stored.String() && (target.Selector == nil) == (stored.Selector == nil)
}

// probes stand for the taints and labels of a model: wording is compared whether these change or not.
var (
	probeTaints = []corev1.Taint{{Key: "probe", Effect: corev1.TaintEffectNoExecute}}
	probeLabels = map[string]string{"probe": ""}
)

// sameWorkloads reports whether two lists mean the same workloads, in any order; false where that is not known, or
// where there is none.
func sameWorkloads(ctx context.Context, a, b model) bool {
	one, known := a.probed(ctx)
	other, too := b.probed(ctx)
	return known && too && maps.EqualFunc(one, other, func(x, y member) bool {
		return x.APIVersion == y.APIVersion && maps.Equal(x.pin.Labels, y.pin.Labels) && slices.EqualFunc(x.claim.Tolerations, y.claim.Tolerations, toleration.Equal)
	})
}

// probed resolves the workloads, by their keys.
func (m model) probed(ctx context.Context) (map[string]member, bool) {
	var ignored diag.Diagnostics
	models, known := m.workloads(ctx, &ignored)
	out := map[string]member{}
	for i, one := range models {
		resolved, ok := one.members(i, probeTaints, label.Claim{Labels: probeLabels}, &ignored)
		known = known && ok
		for _, r := range resolved {
			out[r.key()] = r
		}
	}
	return out, known && len(out) > 0
}

// sameAdmission reports whether two objects mean the same policy; false where that is not known, or where there is none.
func sameAdmission(ctx context.Context, a, b model) bool {
	var ignored diag.Diagnostics
	one, _ := a.policy(ctx, ownership{}, probeTaints, probeLabels, &ignored)
	other, _ := b.policy(ctx, ownership{}, probeTaints, probeLabels, &ignored)
	return one != nil && other != nil && !ignored.HasError() && one.Name == other.Name && one.Equal(other.Policy)
}
