// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import "github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"

// drainOf is the drain of MachineSets that roll out together. New machines come while the old ones
// drain with every strategy but scale_to_zero with wait_for = "removed": there pods that only they
// would take stay pending until every old machine is gone, and none that a PDB holds ever is.
func drainOf(group []Affected) eviction.DrainOf {
	out := eviction.DrainOf{Undrained: map[string]bool{}}
	for _, a := range group {
		out.Last = out.Last || a.Effect.Gap.Removed && a.Effect.Strategy == ScaleToZero
		for _, m := range a.Machines {
			out.Undrained[m.Node] = m.NoDrain
		}
	}
	return out
}

// refuseDeadlocks reports which of the deadlocks another parameter would avoid: with
// wait_for = "removed" there would be no machine at all until the time is over.
func refuseDeadlocks(found []eviction.Deadlock) []Refusal {
	var out []Refusal
	for _, d := range found {
		if d.Removed {
			out = append(out, Refusal{Why: d.Why, Attribute: attributeWaitFor, Instead: "Use wait_for = \"marked_deleted\", with which new machines come while the old ones drain, or another strategy"})
		}
	}
	return out
}
