// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types/basetypes"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// ownership is what the resource remembers beside its state.
type ownership = fw.Ownership[toleration.ID]

// objectAsIs reads objects whose attributes are all of framework types.
var objectAsIs = basetypes.ObjectAsOptions{}

// keep forgets imported entries that are no longer wanted.
func keep(own ownership, tolerations []corev1.Toleration) ownership {
	ids := make([]toleration.ID, len(tolerations))
	for i, t := range tolerations {
		ids[i] = toleration.IDOf(t)
	}
	return own.Keep(ids)
}

// ownership loads the private state of an existing instance. Where it is lost,
// because an update was killed, the marks with the state's id are ours. The
// error is that of reading the cluster for it.
func (r *workloadTolerations) ownership(ctx context.Context, private fw.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := fw.LoadOwnership[toleration.ID](ctx, private, diags)
	if own.Generation != "" || diags.HasError() {
		return own, nil
	}
	desired, known := state.desired(ctx, own, diags)
	if !known {
		return own, nil
	}
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return recovered(state.ID.ValueString(), desired.claim.Tolerations, observed.workloads, diags), nil
}

// recovered finds out again what a private state held that is lost. Which
// cluster it was written for is lost as well: one that carries no mark of it
// and not what the state says may be another, which is an error.
func recovered(id string, stored []corev1.Toleration, workloads []*workload.Workload, diags *diag.Diagnostics) ownership {
	own, found := fw.NewOwnership[toleration.ID](""), false
	covered := len(workloads) > 0
	for _, w := range workloads {
		for _, mark := range w.Record {
			if mark.Owner == id {
				own.Generation, found = mark.Generation, true
			}
		}
		for _, t := range stored {
			covered = covered && toleration.CoveredBy(w.Tolerations, t)
		}
	}
	if !found && !covered {
		diags.AddError("Unable to tell whether this state belongs to this cluster",
			"An earlier update was killed, and with it went the record of the cluster that the state was written for. No workload of this cluster carries a mark of \""+id+"\". "+
				"Point the provider block at the right cluster. If this is the right one, remove the resource from the state with \"terraform state rm\", and apply it anew.")
	}
	return own
}
