// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Observe reads what the state names and, after an update that failed, what that has left beside it: the state does not
// name a workload that the update has added. Pods are not looked at: they come and go by themselves.
func (r *dedicatedNodes) Observe(ctx context.Context, m model, own ownership, diags *diag.Diagnostics) (observation, error) {
	desired, known := m.Desired(ctx, own, diags)
	if !known {
		return observation{}, nil
	}
	if own.Drifted && own.Sealed() {
		var err error
		if desired, err = r.leavers(ctx, desired, wanted{}); err != nil {
			return observation{}, err
		}
	}
	return r.observeHere(ctx, desired, diags)
}

// Recover finds the marks with the state's id.
func (r *dedicatedNodes) Recover(ctx context.Context, own ownership, _ model, seen observation, diags *diag.Diagnostics) (ownership, error) {
	marked, err := r.Data.Cluster.MarkedAnywhere(ctx)
	if err != nil && !errors.Is(err, kube.ErrForbidden) {
		return own, err
	}
	return recovered(own, seen.of, seen, marked, diags), nil
}

// Refresh compares nodes and workloads with the state. The state keeps what was
// applied last, so that a destroy finds all of it; only drift reports where the
// cluster differs.
func (r *dedicatedNodes) Refresh(ctx context.Context, state model, own ownership, seen observation, diags *diag.Diagnostics) (model, ownership, error) {
	if seen.of.lists.Nonce != own.Nonce {
		// The proof of the marks was lost when these were looked for.
		var err error
		if seen, err = r.Observe(ctx, state, own, diags); err != nil || diags.HasError() {
			return state, own, err
		}
	}
	own = own.Retain(seen.forget)
	r.Data.Keys.Register(state.ID.ValueString(), own.ListSeal())
	state.Drift = seen.drift(ctx, seen.of, diags)
	own.Drifted = own.Drifted && len(state.Drift.Elements()) > 0
	return state, own, nil
}

// drift reports what is out of sync. What pods still need and waits to be taken
// removed is in sync until then.
func (o observation) drift(ctx context.Context, desired wanted, diags *diag.Diagnostics) types.Map {
	by := map[string]taint.Status{}
	note := func(name string, status taint.Status) {
		// One entry that is missing is told rather than one that differs.
		if by[name] != taint.Missing {
			by[name] = status
		}
	}
	for name, status := range planner.PlanNodes(slices.Clone(o.nodes), desired.nodes).Deviations {
		note("node/"+name, status)
	}
	for _, n := range o.nodes {
		if status := labelled(n, desired.labels); status != "" {
			note("node/"+n.Name, status)
		}
	}
	for _, name := range desired.nodes.Target.Names {
		if !slices.ContainsFunc(o.nodes, func(n *snapshot.Node) bool { return n.Name == name }) {
			note("node/"+name, taint.Missing)
		}
	}
	message.WarnRestoredNodes(o.nodes, desired.nodes.Claim, desired.labels.Claim, diags)
	o.driftOfSets(desired, note)
	o.driftOfPolicies(desired, note)
	for _, s := range o.members {
		message.WarnRestored(s.workload, s.claim.On(s.workload.Grouped()), s.pin.On(s.workload.Grouped()), diags)
		if status := s.status(); status != "" {
			note(s.String(), status)
		}
	}
	for _, a := range o.absent {
		if !a.left {
			note(a.String(), taint.Missing)
		}
	}
	if len(by) == 0 {
		return noDrift()
	}
	m, found := types.MapValueFrom(ctx, types.StringType, by)
	diags.Append(found...)
	return m
}

// labelled reports how the labels of a node differ from what is wanted.
func labelled(n *snapshot.Node, desired planner.NodeLabels) taint.Status {
	if !desired.Target.Matches(n) && !desired.Claim.OnNode(n.Name, n.UID).Owns(n.LabelRecord) {
		return ""
	}
	return statusOf(planner.MergeLabels(n, desired))
}

func statusOf(merged label.Merged) taint.Status {
	switch {
	case len(merged.Missing) > 0:
		return taint.Missing
	case len(merged.Different)+len(merged.Removed)+len(merged.Conflicts) > 0:
		return taint.Different
	}
	return ""
}

// status reports how a workload differs from what is wanted. What retires is no
// difference: it goes when pods do not need it any more.
func (s seen) status() taint.Status {
	merged := toleration.Merge(s.workload.Tolerations, s.workload.Record, s.claim.On(s.workload.Grouped()), nil, true)
	pins := statusOf(s.planned(s.workload).MergePins())
	switch {
	case len(merged.Missing) > 0 || pins == taint.Missing:
		return taint.Missing
	case pins != "", s.workload.RecordErr != nil, s.workload.LabelRecordErr != nil, s.superfluous():
		return taint.Different
	}
	return ""
}

// superfluous reports whether the workload carries something owned that is not
// wanted and does not retire.
func (s seen) superfluous() bool {
	return slices.ContainsFunc(s.workload.Record, func(mark toleration.Mark) bool {
		return s.claim.On(s.workload.Grouped()).Owns(toleration.Record{mark}) && !mark.Retiring &&
			!slices.ContainsFunc(s.claim.Tolerations, func(t corev1.Toleration) bool { return toleration.IDOf(t) == mark.ID() })
	})
}
