// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// apply carries out what is desired: waits for the node and for the pods that
// have to tolerate it, writes within the budget, and takes tolerations away that
// nothing needs any more.
func (r *nodeTaints) apply(ctx context.Context, verb string, m model, desired planner.NodeTaints, diags *diag.Diagnostics) bool {
	budget, _ := fw.BudgetOf(ctx, m.Evictions, r.Data.Evictions, diags)
	linked, _ := fw.Linked(ctx, m.ToleratedBy, diags)
	if diags.HasError() {
		return false
	}
	release, err := r.Data.Cluster.Follow(ctx, budget.Set())
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return false
	}
	defer release()
	if found := r.await(ctx, verb, desired); found != nil {
		diags.Append(found)
		return false
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err == nil {
		desired, err = r.machines(ctx, nodes, desired)
	}
	if err == nil && !desired.Claim.Release {
		err = r.awaitLinked(ctx, linked, planner.PlanNodes(nodes, desired))
	}
	if err == nil {
		err = r.switchTaints(ctx, m, budget, desired)
	}
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return false
	}
	r.contract(ctx, desired, diags)
	return true
}

// await waits for a node that does not exist yet, and tells of one that is gone.
func (r *nodeTaints) await(ctx context.Context, verb string, desired planner.NodeTaints) diag.Diagnostic {
	if desired.Target.Selector != nil {
		return nil
	}
	if verb == "create" {
		if err := r.Data.Cluster.WaitForNode(ctx, desired.Target.Name); err != nil {
			return explainWait(desired.Target.Name, err)
		}
	}
	if _, there := r.Data.Cluster.Node(desired.Target.Name); verb == "update" && !there {
		return explainGone(desired.Target.Name)
	}
	return nil
}

// switchTaints writes the taints, as long as budget and stranded pods allow.
func (r *nodeTaints) switchTaints(ctx context.Context, m model, budget fw.Budget, desired planner.NodeTaints) error {
	looked := false
	return rollout.SwitchTaints(ctx, r.Data.Cluster, desired, func(plan planner.NodePlan) error {
		if (!budget.Set() || plan.Harmless()) && (budget.EvictStranded || !plan.MayStrand()) {
			return nil
		}
		release, err := r.Data.Cluster.Follow(ctx, true)
		if err != nil {
			return err
		}
		defer release()
		if looked {
			// Nodes have come since: their pods may not have come by the watch yet.
			if err := r.Data.Cluster.RelistPods(ctx); err != nil {
				return err
			}
		}
		looked = true
		return r.allowed(ctx, budget, !m.Evictions.IsNull(), desired, plan)
	})
}

// allowed checks a change against the pods that run right now.
func (r *nodeTaints) allowed(ctx context.Context, budget fw.Budget, ours bool, desired planner.NodeTaints, plan planner.NodePlan) error {
	snapshot, err := r.Data.Cluster.SnapshotToDecide(ctx)
	if err != nil {
		return err
	}
	report := eviction.Evaluate(snapshot, plan.Change(), r.Data.Comparison)
	about := refused(desired, plan)
	about.Began = true
	return budget.Allow(report, about, path.Root("tolerated_by"), ours)
}

// awaitLinked waits until the live pods of the linked workloads carry their
// tolerations, where taints are about to be written. Nobody needs one for taints that
// go.
func (r *nodeTaints) awaitLinked(ctx context.Context, linked []string, plan planner.NodePlan) error {
	if len(linked) == 0 || plan.Harmless() {
		return nil
	}
	release, err := r.Data.Cluster.Follow(ctx, true)
	if err != nil {
		return err
	}
	defer release()
	return rollout.AwaitLinked(ctx, r.Data.Cluster, &r.Data.Planned, linked)
}

// contract takes away what pods lived by under the taints that have gone. They
// are gone already, so that a failure of it fails nothing.
func (r *nodeTaints) contract(ctx context.Context, desired planner.NodeTaints, diags *diag.Diagnostics) {
	if err := rollout.ContractTolerations(ctx, r.Data.Cluster, r.Data.Frees(desired.Named(), desired.Known), r.Data.Comparison); err != nil {
		diags.Append(fw.NotContracted(fw.Place(desired.Target), err))
	}
}
