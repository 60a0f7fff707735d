// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func cycle(rollout Rollout) Desired {
	return Desired{Claim: taint.Claim{Owner: "terraform/cycle"}, Rollout: rollout, Cycle: true}
}

// names are those of the machines that are there.
func (c *cloud) names() map[string]bool {
	out := map[string]bool{}
	for _, m := range c.machines {
		out[m.Name] = true
	}
	return out
}

// TestNext_cyclesEveryMachineOnce: killed before each write and begun again, a cycle
// replaces all machines that there were, each by one, and none of the new ones.
func TestNext_cyclesEveryMachineOnce(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		if !how.rollout.Strategy.Replaces() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, machines := range []int{1, 5} {
				for kill, done := 0, false; !done; kill++ {
					c := begun(t, uint64(kill), machines, "team=a:NoExecute")
					before, template := c.names(), c.set.Taints
					least := max(how.least(machines), 0)
					if _, done = c.run(t, cycle(how.rollout), kill, least); !done {
						for range c.r.IntN(30) {
							c.step()
						}
						c.run(t, cycle(how.rollout), -1, least)
					}
					c.want(t, machines, template)
					for name := range c.names() {
						if before[name] {
							t.Fatalf("killed before write %d: %s is still there", kill, name)
						}
					}
					if c.made > machines+how.rollout.MaxSurge {
						t.Fatalf("killed before write %d: %d machines were made for %d", kill, c.made, machines)
					}
				}
			}
		})
	}
}

// TestNext_aCycleEndsWhateverOthersEdit in the template, in machines and on nodes.
func TestNext_aCycleEndsWhateverOthersEdit(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		if !how.rollout.Strategy.Replaces() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range seeds(t, 24) {
				const machines = 4
				c := begun(t, seed, machines, "team=a:NoExecute")
				before := c.names()
				c.edits = 6
				c.run(t, cycle(how.rollout), -1, how.least(machines))
				for c.step() {
				}
				if c.set.Marker != nil || c.set.Replicas != machines || len(c.machines) != machines {
					t.Fatalf("seed %d ends with %d machines of %d, and the marker %v", seed, len(c.machines), c.set.Replicas, c.set.Marker)
				}
				for name := range c.names() {
					if before[name] {
						t.Fatalf("seed %d: %s is still there", seed, name)
					}
				}
				if c.made > machines+how.rollout.MaxSurge {
					t.Fatalf("seed %d: %d machines were made for %d", seed, c.made, machines)
				}
			}
		})
	}
}

// TestNext_cycleWithAnotherStrategyGoesOn with the machines that are left, not with all
// of them anew.
func TestNext_cycleWithAnotherStrategyGoesOn(t *testing.T) {
	t.Parallel()
	const machines = 4
	for kill := 1; ; kill++ {
		c := begun(t, uint64(kill), machines, "")
		if _, done := c.run(t, cycle(Rollout{Strategy: Rolling, MaxUnavailable: 1}), kill, 0); done {
			return
		}
		c.run(t, cycle(Rollout{Strategy: Surge, MaxSurge: 1}), -1, 0)
		c.want(t, machines, taintsOf(t, foreign))
		if c.made > machines+1 {
			t.Fatalf("killed before write %d: %d machines were made for %d", kill, c.made, machines)
		}
	}
}

func TestNext_cycleStopsWhereItsMarkerIsTakenAway(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 3, "")
	d := cycle(Rollout{Strategy: Rolling, MaxUnavailable: 1})
	c.run(t, d, 2, 0)
	c.set.Marker, d.Begun = nil, c.set.Marker
	if got := Next(c.observed(), d, time.Unix(0, 0)); !strings.Contains(got.Stop, "Another writer removed the annotation "+MarkerAnnotation+" from MachineSet") || !strings.Contains(got.Stop, "spec.replicas is 3, as it was before the rollout. Run again: the next run replaces all machines, also those that are new already") {
		t.Errorf("it says %q with %d intents", got.Stop, len(got.Intents))
	}
}

// TestNext_cycleThatIsScaledSaysWhatEndingItMeans: without its marker, new machines are
// as old as the others.
func TestNext_cycleThatIsScaledSaysWhatEndingItMeans(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 3, "")
	c.set.Marker, c.set.Replicas = &Marker{ID: "terraform/cycle", Strategy: Surge, OriginalReplicas: 3, Surge: 1}, 7
	if got := Next(c.observed(), cycle(Rollout{Strategy: Surge, MaxSurge: 1}), time.Unix(0, 0)); !strings.Contains(got.Stop, "and replaces all machines, also those that are new already") {
		t.Errorf("it says %q with %d intents", got.Stop, len(got.Intents))
	}
}

func TestNext_cycleOfNothingWritesNothing(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 0, "")
	if writes, done := c.run(t, cycle(Rollout{Strategy: ScaleToZero}), -1, 0); writes > 0 || !done {
		t.Errorf("%d writes were made, and done is %v", writes, done)
	}
}
