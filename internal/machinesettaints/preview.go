// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// impact says which pods the change makes leave.
func (r *machineSetTaints) impact(ctx context.Context, m model, desired wanted, all []machineset.Affected, budget fw.Budget, strict bool, diags *diag.Diagnostics) {
	linked, linksKnown := fw.Linked(ctx, m.ToleratedBy, diags)
	if !linksKnown {
		// What is not known yet is not guessed at.
		return
	}
	snapshot, err := r.data.Cluster.Snapshot(ctx)
	if err != nil {
		fw.NoPreview("evictions on "+desired.target.place(), "evicts", err, strict, r.data, diags)
		return
	}
	if !r.data.CheckLinks(linked, snapshot, diags) {
		return
	}
	impact := machineset.Evaluate(snapshot, all, r.data.Planned.Tolerations(desired.Claim.Owner, linked), r.data.Comparison, int(r.data.MaxConcurrentRollouts))
	report := impact.Report
	where := desired.target.place()
	if desired.target.selector != nil {
		where = fw.Count(len(all), "MachineSet") + ` matching "` + desired.target.selector.String() + `"`
	}
	about := subject("Applying", all, where)
	if desired.Claim.Release {
		about = subject("Removing", all, where)
		about.Preposition = "from"
	}
	about.RefusesStranded = !budget.EvictStranded
	if impact.Refused != nil {
		diags.Append((&refusedError{set: impact.Refused, refusals: impact.Refusals}).diagnostic())
		return
	}
	fw.WarnDeadlocks(where, impact.Deadlocks, diags)
	if violations := budget.Check(report); strict && len(violations) > 0 {
		over := &fw.Exceeded{Violations: violations, Subject: about, Report: report, Ours: !m.Evictions.IsNull()}
		diags.Append(over.Diagnostic())
		return
	}
	summary, detail := fw.Preview(about, report)
	summary, detail = fw.RolloutCost(about, all, int(r.data.MaxConcurrentRollouts), summary, detail)
	if summary != "" {
		diags.AddWarning(summary, detail)
	}
}

// subject words what a change is about.
func subject(verb string, all []machineset.Affected, where string) fw.Subject {
	s := fw.Subject{Verb: verb, Preposition: "to", Where: where}
	var stay, going []corev1.Taint
	for _, a := range all {
		for _, id := range a.Effect.Template.Ours {
			if at := taint.Find(a.Effect.Template.Taints, id); at >= 0 {
				stay = append(stay, a.Effect.Template.Taints[at])
			} else if at := taint.Find(a.Set.Taints, id); at >= 0 {
				going = append(going, a.Set.Taints[at])
			}
		}
		s.Many = s.Many || len(a.Effect.Stale) > 1
	}
	// What goes is what it is about where nothing comes in its place.
	if s.Taints = stay; len(stay) == 0 {
		s.Taints = going
	}
	s.Taints = slices.CompactFunc(taint.Sort(s.Taints), func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	return s
}

// warn says of one MachineSet what may go wrong, and what was interrupted.
func warn(o machineset.Observed, d machineset.Desired, e machineset.Effect, diags *diag.Diagnostics) {
	if m := e.Interrupted; m != nil {
		diags.AddWarning(fmt.Sprintf("A rollout of %s is interrupted, and apply goes on with it", o.Set.Title()),
			fmt.Sprintf("It began at %s with the strategy %s, when spec.replicas was %d; now it is %d. %s still to be changed. Apply goes on where it stopped, and spec.replicas is %d at the end.",
				m.StartedAt.Format("2006-01-02 15:04:05 MST"), m.Strategy, m.OriginalReplicas, o.Set.Replicas, fw.CountVerb(len(e.Stale), "machine is", "machines are"), m.OriginalReplicas))
	}
	if warnings := machineset.Warnings(o, d); len(warnings) > 0 {
		diags.AddWarning(fmt.Sprintf("The rollout of %s may not go through by itself", o.Set.Title()), "  "+strings.Join(warnings, "\n  "))
	}
	if e.Template.Changed && len(e.Template.TakenOver) > 0 && d.Claim.TakeOver {
		diags.AddWarning(fmt.Sprintf("Creating takes over taints of %q on %s", d.Claim.Owner, o.Set.Title()),
			"Entries with this resource's id are in its template already. An earlier create did not end, or this object replaces another one.")
	}
}
