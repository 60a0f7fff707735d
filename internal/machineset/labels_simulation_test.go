// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
)

// labels brings the labels of a claim to the cloud while its controllers do their work, another
// writer edits labels that are not owned, adds machines and deletes some.
func (c *cloud) labels(t *testing.T, claim label.Claim) {
	t.Helper()
	grow := 2
	for range 1_000 {
		p := PlanLabels(c.observed(), claim)
		if len(p.Conflicts) > 0 {
			t.Fatalf("conflicts: %+v", p.Conflicts)
		}
		if len(p.Intents) == 0 && !p.Waits {
			return
		}
		for _, i := range p.Intents {
			c.carry(i)
			for range c.r.IntN(3) {
				c.step()
			}
			c.meddle()
			if grow > 0 && c.r.IntN(4) == 0 {
				// A controller that has not seen the template yet replaces a deleted machine by the one before.
				grow--
				if live := c.live(); c.r.IntN(2) == 0 && len(live) > 0 {
					live[c.r.IntN(len(live))].Deleting = true
				} else {
					c.set.Replicas, c.set.Observed = c.set.Replicas+1, false
				}
			}
		}
		if len(p.Intents) == 0 && !c.step() {
			t.Fatal("it waits, and nothing happens any more")
		}
	}
	t.Fatal("it never ends")
}

// TestPlanLabels_endsWhateverOthersEdit in the template, in machines and on nodes: at the end, all
// have the wanted labels and none that was given up.
func TestPlanLabels_endsWhateverOthersEdit(t *testing.T) {
	t.Parallel()
	ours := func(release bool, labels string) label.Claim {
		return label.Claim{Owner: "me", Generation: "g", Release: release, Labels: labelSet(labels)}
	}
	for seed := range seeds(t, 200) {
		c := newCloud(seed, 1+int(seed%3))
		for _, claim := range []label.Claim{ours(false, "pool=gpu"), ours(false, "pool=cpu tier=a"), ours(false, "tier=a"), ours(true, "tier=a")} {
			c.edits = 6
			c.labels(t, claim)
			// Machines that are made from now on follow the template, once all have ended.
			for c.step() {
			}
			c.labels(t, claim)
			for c.step() {
			}
			want := claim.Labels
			if claim.Release {
				want = nil
			}
			places := map[string]map[string]string{"the template": c.set.NodeLabels}
			for _, m := range c.machines {
				places[m.Name], places[m.Node] = m.Labels, c.nodes[m.Node].Labels
			}
			for place, labels := range places {
				for _, key := range []string{"pool", "tier"} {
					now, there := labels[key]
					if value, wanted := want[key]; there != wanted || now != value {
						t.Fatalf("seed %d: with %v, %s has %v", seed, want, place, labels)
					}
				}
			}
			if claim.Release && len(c.set.LabelRecord) > 0 {
				t.Fatalf("seed %d: the record is left: %s", seed, c.set.LabelRecord)
			}
		}
	}
}
