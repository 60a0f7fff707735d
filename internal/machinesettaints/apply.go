// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// apply carries out what is desired, on as many MachineSets at once in a run as the
// provider block allows; false where it has failed.
func (r *machineSetTaints) apply(ctx context.Context, verb string, m model, desired wanted, timeout time.Duration, diags *diag.Diagnostics) bool {
	linked, _ := fw.Linked(ctx, m.ToleratedBy, diags)
	budget, _ := fw.BudgetOf(ctx, m.Evictions, r.Data.Evictions, diags)
	if diags.HasError() {
		return false
	}
	release, err := r.Data.Cluster.FollowMachines(ctx)
	if err != nil {
		diags.Append(explain(verb, desired, nil, err))
		return false
	}
	defer release()
	err = r.Data.HandOver(ctx, desired.target, desired.Desired)
	var sets []machineset.Observed
	if err == nil {
		sets, err = r.Data.Cluster.MachineSets(ctx)
	}
	if err != nil {
		diags.Append(explain(verb, desired, nil, err))
		return false
	}
	meant := concerned(sets, desired)
	if desired.Claim.Release {
		// A replacement has no plan of its destroy.
		fw.WarnLeftBehind(desired.changes(sets), diags)
	}
	if len(meant) == 0 && desired.target.Selector == nil && !desired.Claim.Release {
		diags.Append(gone(verb, desired))
		return false
	}
	run := &fw.SetRollouts{
		Data: r.Data, Meant: meant, Of: desired.of, Place: desired.target.Place(), Budget: budget, Ours: !m.Evictions.IsNull(), Tolerations: path.Root("tolerated_by"), Timeout: timeout,
		Ready: func(ctx context.Context) error {
			return rollout.AwaitLinked(ctx, r.Data.Cluster, &r.Data.Planned, linked)
		},
	}
	for n, err := range run.All(ctx) {
		if err != nil {
			diags.Append(explain(verb, desired, run.Meant[n].Set, err))
		}
	}
	if diags.HasError() {
		return false
	}
	r.contract(ctx, desired, diags)
	return true
}

// contract takes away what pods lived by under the taints that have gone.
func (r *machineSetTaints) contract(ctx context.Context, desired wanted, diags *diag.Diagnostics) {
	if err := rollout.ContractTolerations(ctx, r.Data.Cluster, r.Data.Frees(desired.named(), desired.known), r.Data.Comparison); err != nil {
		diags.Append(fw.NotContracted(desired.target.Place(), err))
	}
}
