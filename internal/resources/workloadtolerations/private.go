// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ownership is what the resource remembers beside its state.
type ownership = managed.Ownership[toleration.ID]

// objectAsIs reads objects whose attributes are all of framework types.
var objectAsIs = basetypes.ObjectAsOptions{}

// ownership loads the private state of an existing instance. Where it is lost,
// because an update was killed, the marks with the state's id are ours. The
// error is that of reading the cluster for it.
func (r *workloadTolerations) ownership(ctx context.Context, private session.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := managed.LoadOwnership[toleration.ID](ctx, private, state.ID.ValueString(), diags)
	r.Data.Keys.Register(state.ID.ValueString(), own.ListSeal())
	if own.Sealed() || diags.HasError() {
		return own, nil
	}
	desired, known := state.desired(ctx, own, diags)
	if !known {
		return own, nil
	}
	observed, err := r.observe(ctx, desired, own.Cluster, diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	own = recovered(own, state.ID.ValueString(), desired.claim.Tolerations, observed.workloads, diags)
	lists := own.Find(state.ID.ValueString(), own.ListSeal())
	for _, w := range observed.workloads {
		lists.Lists(w.Grouped(), w.Record, nil)
	}
	if t := desired.target; t.Selector != nil && !diags.HasError() {
		// An update may have left others, which the selector does not match any more.
		_, marked, err := r.Data.Cluster.WorkloadsAndMarked(ctx, t.Ref, t.Selector, t.Path)
		if err != nil {
			return own, err
		}
		for _, m := range marked {
			lists.Lists(m.Grouped(), m.Record, nil)
		}
	}
	return own.See(record.Held{}, lists.Held), nil
}

// recovered finds out again what a private state held that is lost. Workloads
// that have all that the state says may carry no mark of it: what others have
// put there is left to them.
func recovered(own ownership, id string, stored []corev1.Toleration, workloads []*workload.Workload, diags *diag.Diagnostics) ownership {
	found := managed.GenerationsOf(id)
	covered := len(workloads) > 0
	for _, w := range workloads {
		for _, mark := range w.Record {
			found.Note(w.Title(), mark.Owner, mark.Generation)
		}
		for _, t := range stored {
			covered = covered && toleration.CoveredBy(w.Tolerations, t)
		}
	}
	objects := "No workload"
	if covered {
		objects = ""
	}
	return own.Recover(func() string { return found.One(objects, diags) })
}
