// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// Read compares the workloads with the state. A toleration that is not there any
// more leaves the state, and so the next plan adds it again; one that retires and
// that nothing needs any more enters it, and so the next plan takes it away.
// Tolerations of others are never taken up. State is dropped on one ground
// alone: the named workload does not exist.
func (r *workloadTolerations) Read(ctx context.Context, req resource.ReadRequest, resp *resource.ReadResponse) {
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	if resp.Diagnostics.HasError() {
		return
	}
	own, err := r.ownership(ctx, req.Private, state, &resp.Diagnostics)
	desired, known := state.desired(ctx, own, &resp.Diagnostics)
	if err == nil && known && !resp.Diagnostics.HasError() {
		var observed observation
		if observed, err = r.observe(ctx, desired, own.Cluster, &resp.Diagnostics); err == nil && !resp.Diagnostics.HasError() {
			own.Cluster = observed.cluster
			err = r.refresh(ctx, &state, desired, observed, &resp.Diagnostics)
		}
	}
	switch {
	case errors.Is(err, kube.ErrNotFound):
		resp.State.RemoveResource(ctx)
		return
	case err != nil:
		// The stored state stays as it is.
		r.data.Unreadable("the tolerations of "+desired.target.title(), err, &resp.Diagnostics)
		return
	case resp.Diagnostics.HasError() || !known:
		return
	}
	r.save(ctx, state, own, &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

// refresh puts into the state what the workloads have of it.
func (r *workloadTolerations) refresh(ctx context.Context, state *model, desired wanted, observed observation, diags *diag.Diagnostics) error {
	there := slices.Clone(desired.claim.Tolerations)
	changed := false
	for _, w := range observed.workloads {
		if w.RecordErr != nil {
			return w.RecordErr
		}
		// Nothing is given up here: what is missing does not depend on what
		// pods live by.
		for _, missing := range toleration.Merge(w.Tolerations, w.Record, desired.claim, nil, true).Missing {
			there = slices.DeleteFunc(there, func(t corev1.Toleration) bool { return toleration.Equal(t, missing) })
			changed = true
		}
	}
	unneeded, err := r.unneeded(ctx, desired, observed)
	if err != nil {
		return err
	}
	for _, t := range unneeded {
		if !toleration.Contains(there, t) {
			there, changed = append(there, t), true
		}
	}
	if changed {
		state.Tolerations = fw.TolerationSet(ctx, there, diags)
	}
	return nil
}

// unneeded returns the retiring entries of ours that no pod lives by any more,
// and those on workloads that are no longer meant.
func (r *workloadTolerations) unneeded(ctx context.Context, desired wanted, observed observation) ([]corev1.Toleration, error) {
	retires := len(observed.leavers) > 0
	for _, w := range observed.workloads {
		for _, mark := range w.Record {
			retires = retires || mark.Retiring && mark.Generation == desired.claim.Generation
		}
	}
	if !retires {
		return nil, nil
	}
	snapshot, err := r.data.Cluster.Snapshot(ctx)
	if err != nil {
		if errors.Is(err, kube.ErrForbidden) {
			return nil, nil
		}
		return nil, err
	}
	var out []corev1.Toleration
	for _, step := range planner.Order(snapshot, observed.change(desired), r.data.Comparison).Steps {
		if step.Kind == planner.Contract {
			out = append(out, step.Merged.Removed...)
		}
	}
	return out, nil
}
