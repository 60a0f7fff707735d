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

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// affected is a MachineSet and what a change does to its machines.
type affected struct {
	machineset.Observed
	effect machineset.Effect
}

// impact says which pods the change makes leave.
func (r *machineSetTaints) impact(ctx context.Context, m model, desired wanted, all []affected, budget fw.Budget, strict bool, diags *diag.Diagnostics) {
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
	change := changeOf(all)
	change.Tolerations = r.data.Planned.Tolerations(linked)
	report := eviction.Evaluate(snapshot, change, r.data.Comparison)
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
	if violations := budget.Check(report); strict && len(violations) > 0 {
		over := &fw.Exceeded{Violations: violations, Subject: about, Report: report, Ours: !m.Evictions.IsNull()}
		diags.Append(over.Diagnostic())
		return
	}
	summary, detail := fw.Preview(about, report)
	if cost := costs(all, desired.Rollout); cost != "" {
		if summary == "" {
			summary = about.String() + " replaces machines, and evicts no pods"
		}
		detail = strings.TrimSuffix(cost+"\n\n"+detail, "\n\n")
	}
	if summary != "" {
		diags.AddWarning(summary, detail)
	}
}

// changeOf is what the nodes will look like: with other taints where machines are
// written to in place, drained where they are replaced.
func changeOf(all []affected) eviction.Change {
	c := eviction.Change{Drains: map[string]bool{}, Taints: map[string][]corev1.Taint{}}
	for _, a := range all {
		for _, m := range a.effect.Stale {
			n := a.Nodes[m.Node]
			switch {
			case n == nil:
			case a.effect.Replaced:
				c.Drains[n.Name] = true
			default:
				c.Taints[n.Name] = a.effect.Template.Apply(n.Taints)
			}
		}
	}
	return c
}

// subject words what a change is about.
func subject(verb string, all []affected, where string) fw.Subject {
	s := fw.Subject{Verb: verb, Preposition: "to", Where: where}
	for _, a := range all {
		for _, id := range a.effect.Template.Ours {
			at := taint.Find(a.effect.Template.Taints, id)
			if at < 0 {
				at = taint.Find(a.Set.Taints, id)
				if at >= 0 {
					s.Taints = append(s.Taints, a.Set.Taints[at])
				}
				continue
			}
			s.Taints = append(s.Taints, a.effect.Template.Taints[at])
		}
		s.Many = s.Many || len(a.effect.Stale) > 1
	}
	s.Taints = slices.CompactFunc(taint.Sort(s.Taints), func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
	return s
}

// costs says what a rollout costs in machines, "" where none is replaced.
func costs(all []affected, r machineset.Rollout) string {
	replaced, sets := 0, 0
	for _, a := range all {
		if a.effect.Replaced && len(a.effect.Stale) > 0 {
			replaced, sets = replaced+len(a.effect.Stale), sets+1
		}
	}
	if replaced == 0 {
		return ""
	}
	how := map[machineset.Strategy]string{
		machineset.Rolling:     fmt.Sprintf("%s missing at a time", fw.CountVerb(r.MaxUnavailable, "is", "are")),
		machineset.Surge:       fmt.Sprintf("with %s more meanwhile, so that none is missing", fw.Count(r.MaxSurge, "machine")),
		machineset.ScaleToZero: "all at once, so that all are missing until new ones have come",
	}[r.Strategy]
	return fmt.Sprintf("%s of %s are replaced, %s. Their pods are drained: PodDisruptionBudgets are obeyed, and can hold a machine up.",
		fw.Count(replaced, "machine"), fw.Count(sets, "MachineSet"), how)
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
