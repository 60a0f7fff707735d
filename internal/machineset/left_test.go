// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"
)

// TestLeft_countsOldMachinesThatDrain, but no new one that another writer has deleted.
func TestLeft_countsOldMachinesThatDrain(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 3, "team=a:NoExecute")
	for _, m := range c.machines {
		m.Deleting = true
	}
	c.machines[0].Taints = taintsOf(t, "team=b:NoExecute")
	c.set.Taints = c.machines[0].Taints
	for strategy, want := range map[Strategy]int{Rolling: 2, Surge: 2, ScaleToZero: 2, InPlace: 0, TemplateOnly: 0} {
		if got := Left(c.observed(), desire(t, strategy, "team=b:NoExecute")); got != want {
			t.Errorf("%s: %d machines are left, want %d", strategy, got, want)
		}
	}
}

// TestLeft counts what is being deleted where machines are replaced, and not where they
// are changed in place.
func TestLeft(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[Strategy]int{TemplateOnly: 0, InPlace: 2, Rolling: 3, Surge: 3, ScaleToZero: 3} {
		o := fleet(4, func(o *Observed) {
			fresh(t, o, 0)
			o.Set.Taints, o.Machines[1].Deleting = taintsOf(t, "team=a:NoExecute"), true
			o.Nodes["node-m0"].Taints = o.Set.Taints
		})
		if got := Left(o, desire(t, strategy, "team=a:NoExecute")); got != want {
			t.Errorf("%s: %d machines are left, want %d", strategy, got, want)
		}
	}
}
