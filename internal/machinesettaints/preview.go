// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// impact says which pods the change makes leave.
func (r *machineSetTaints) impact(ctx context.Context, m model, desired wanted, all []machineset.Affected, budget fw.Budget, strict bool, diags *diag.Diagnostics) {
	linked, linksKnown := fw.Linked(ctx, m.ToleratedBy, diags)
	if !linksKnown {
		// What is not known yet is not guessed at.
		return
	}
	snapshot, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		fw.NoPreview("evictions on "+desired.target.Place(), "evicts", err, strict, r.Data, diags)
		return
	}
	if !r.Data.CheckLinks(linked, snapshot, diags) {
		return
	}
	snapshot = r.Data.Foreseen(snapshot, linked)
	impact := machineset.Evaluate(snapshot, all, r.Data.Planned.Tolerations(desired.Claim.Owner, linked), r.Data.Comparison, int(r.Data.MaxConcurrentRollouts))
	report, begins := impact.Report, impact
	if begin := machineset.Beginning(all); len(begin) < len(all) {
		begins = machineset.Evaluate(snapshot, begin, r.Data.Planned.Tolerations(desired.Claim.Owner, linked), r.Data.Comparison, int(r.Data.MaxConcurrentRollouts))
	}
	where := desired.target.Place()
	if desired.target.Selector != nil {
		where = fw.Count(len(all), "MachineSet") + ` matching "` + desired.target.Selector.String() + `"`
	}
	verb, doing := "apply", "Applying"
	if desired.Claim.Release {
		verb, doing = "remove", "Removing"
	}
	about := fw.AboutSets(doing, all, where)
	if desired.Claim.Release {
		about.Preposition = "from"
	}
	about.RefusesStranded = !budget.EvictStranded
	if begins.Refused != nil {
		diags.Append(refuse(desired, begins.Refused, begins.Refusals))
		return
	}
	fw.WarnDeadlocks(where, impact.Deadlocks, diags)
	if violations := budget.Check(begins.Report); strict && len(violations) > 0 {
		about.Verb = verb
		over := &fw.Exceeded{Violations: violations, Subject: about, Report: begins.Report, Ours: !m.Evictions.IsNull()}
		diags.Append(over.Diagnostic())
		return
	}
	summary, detail := fw.Preview(about, report)
	summary, detail = fw.RolloutCost(about, all, int(r.Data.MaxConcurrentRollouts), summary, detail)
	if summary != "" {
		diags.AddWarning(summary, detail)
	}
}
