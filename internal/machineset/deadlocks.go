// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

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

// joinUntainted makes the nodes that a change brings what they are when they join: nodelink writes
// the taints of a Machine to its node when that is there (openshift/machine-api-operator
// pkg/controller/nodelink/nodelink_controller.go, addTaintsToNode).
func joinUntainted(c *eviction.Scenario) {
	for i, coming := range c.Comes {
		node := *coming.Node
		node.Taints = nil
		c.Comes[i].Node = &node
	}
}

// noteUntainted adds to deadlocks what ends them by chance: those that are none, or other ones, where
// nodes join without taints. A pod that is ready in that moment is one that its PDB counts.
func noteUntainted(found, untainted []eviction.Deadlock) {
	for i, d := range found {
		if !slices.Contains(untainted, d) {
			found[i].Why += "; a pod that is ready on a new node before nodelink adds its taints lets the drain go on"
		}
	}
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
