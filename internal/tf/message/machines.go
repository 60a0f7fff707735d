// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// RolloutCost puts before the wording of a report what a rollout of MachineSets costs
// in machines, how it evicts pods, and how much capacity is missing at most.
func RolloutCost(s Subject, all []machineset.Affected, atOnce int, summary, detail string) (withCost, costs string) {
	cost := MachineCost(all, atOnce)
	if cost == "" {
		if summary != "" && slices.ContainsFunc(all, func(a machineset.Affected) bool { return a.Effect.Strategy == machineset.InPlace }) {
			detail = "No machine is replaced, and none is missing. NoExecute evicts as soon as a node has the taint: PodDisruptionBudgets are bypassed.\n\n" + detail
		}
		return summary, detail
	}
	if summary == "" {
		summary = s.String() + " replaces machines, and evicts no pods"
	}
	return summary, strings.TrimSuffix(cost+"\n\n"+detail, "\n\n")
}

// MachineCost reports how many machines are replaced and how much is missing meanwhile,
// "" where none is. At most so many MachineSets roll out in parallel.
func MachineCost(all []machineset.Affected, atOnce int) string {
	replaced, lines := 0, []string{}
	for _, a := range all {
		if n := len(a.Effect.Leaving); n > 0 {
			replaced += n
			lines = append(lines, a.Set.Title()+": "+a.Effect.Gap.Words())
		}
	}
	if replaced == 0 {
		return ""
	}
	order := ""
	switch {
	case len(lines) < 2:
	case atOnce > 1:
		order = fmt.Sprintf(" Up to %d MachineSets roll out at the same time.", min(atOnce, len(lines)))
	default:
		order = " One MachineSet rolls out after the other."
	}
	verb := "are replaced. Their"
	if replaced == 1 {
		verb = "is replaced. Its"
	}
	out := fmt.Sprintf("%s of %s %s pods are drained: PodDisruptionBudgets are respected, and can block a drain.%s\n\nMissing capacity:",
		Count(replaced, "machine"), Count(len(lines), "MachineSet"), verb, order)
	for _, line := range lines[:min(len(lines), maxLines)] {
		out += "\n  " + line
	}
	if more := len(lines) - maxLines; more > 0 {
		out += fmt.Sprintf("\n  … and %s", Count(more, "more MachineSet"))
	}
	return out
}

// WarnDeadlocks reports which drains of a resource do not end by themselves.
func WarnDeadlocks(where string, found []eviction.Deadlock, diags *diag.Diagnostics) {
	warnDeadlocks("machines of "+where, "Before you apply, scale", "; or use the strategy in_place, which drains no machine", found, diags)
}

// WarnActionDeadlocks says it of an action, all of whose strategies drain machines.
func WarnActionDeadlocks(where string, found []eviction.Deadlock, diags *diag.Diagnostics) {
	warnDeadlocks("machines of "+where, "Before you apply, scale", "", found, diags)
}

// WarnDrainDeadlocks says it of a drain of nodes.
func WarnDrainDeadlocks(where string, found []eviction.Deadlock, diags *diag.Diagnostics) {
	warnDeadlocks(where, "Before that, scale", "", found, diags)
}

func warnDeadlocks(what, scale, instead string, found []eviction.Deadlock, diags *diag.Diagnostics) {
	if len(found) == 0 {
		return
	}
	gets, would := " may get stuck on PodDisruptionBudgets", "can"
	if slices.ContainsFunc(found, func(d eviction.Deadlock) bool { return !d.Possible }) {
		gets, would = " gets stuck on PodDisruptionBudgets", "would"
	}
	var lines []string
	for _, d := range found[:min(len(found), maxLines)] {
		lines = append(lines, "  "+d.Why)
	}
	if more := len(found) - maxLines; more > 0 {
		lines = append(lines, fmt.Sprintf("  … and %d more", more))
	}
	diags.AddWarning("Draining "+what+gets,
		"The drain respects PodDisruptionBudgets, and these "+would+" hold it until it times out. "+scale+" the workloads up or relax the PodDisruptionBudgets"+instead+":\n\n"+strings.Join(lines, "\n"))
}
