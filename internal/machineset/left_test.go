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

// TestComing counts what a rollout waits for once all old machines are gone.
func TestComing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy                  Strategy
		replicas, original, surge int
		machines                  []string
		left, coming              int
	}{
		"at zero, all old machines are gone":            {ScaleToZero, 0, 3, 0, nil, 0, 3},
		"at zero, an old machine drains":                {ScaleToZero, 0, 3, 0, []string{"a old deleting"}, 1, 3},
		"scaled up again, one of three serves":          {ScaleToZero, 3, 3, 0, []string{"a", "b provisioning"}, 0, 2},
		"scaled up again, all serve":                    {ScaleToZero, 3, 3, 0, []string{"a", "b", "c"}, 0, 0},
		"a surge whose last new machine is coming":      {Surge, 3, 3, 1, []string{"a", "b", "c provisioning"}, 0, 1},
		"a surge whose last new machine has no taint":   {Surge, 3, 3, 1, []string{"a", "b", "c bare"}, 0, 1},
		"a surge with one machine more":                 {Surge, 4, 3, 1, []string{"a", "b", "c", "d"}, 0, 0},
		"rolling, the last new machine is not made yet": {Rolling, 2, 2, 0, []string{"a"}, 0, 1},
		"rolling, scaled up meanwhile":                  {Rolling, 3, 2, 0, []string{"a", "b"}, 0, 1},
		"in place waits for no machine":                 {InPlace, 2, 2, 0, []string{"a provisioning"}, 0, 0},
	} {
		o, d := scene(t, tt.strategy, tt.replicas, tt.original, tt.surge, tt.machines...), desire(t, tt.strategy, wantedTaint)
		if left, coming := Left(o, d), Coming(o, d); left != tt.left || coming != tt.coming {
			t.Errorf("%s: %d machines are left and %d to come, want %d and %d", name, left, coming, tt.left, tt.coming)
		}
	}
}
