// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// taintsOf reads taints in kubectl's notation.
func taintsOf(t testing.TB, notation string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for s := range strings.FieldsSeq(notation) {
		one, err := taint.Parse(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, one)
	}
	return out
}

func desire(t testing.TB, strategy Strategy, notation string) Desired {
	t.Helper()
	taints := taintsOf(t, notation)
	return Desired{
		Claim:   taint.Claim{Owner: "terraform/gpu", Generation: "g1", Taints: taints, Release: len(taints) == 0},
		Rollout: Rollout{Strategy: strategy, MaxUnavailable: 1, MaxSurge: 1},
	}
}

var changes = map[string]struct{ from, to string }{
	"adding":               {"", "team=a:NoExecute"},
	"changing the value":   {"team=a:NoExecute", "team=b:NoExecute"},
	"changing the effect":  {"team=a:NoSchedule", "team=a:NoExecute"},
	"changing the key":     {"team=a:NoSchedule spot:NoSchedule", "crew=a:NoSchedule spot:NoSchedule"},
	"removing one of two":  {"team=a:NoExecute spot:NoSchedule", "spot:NoSchedule"},
	"removing all of them": {"team=a:NoExecute spot:NoSchedule", ""},
}

// rollouts are all the ways to roll out; least is how many of n machines serve at
// every moment.
var rollouts = map[string]struct {
	rollout Rollout
	least   func(n int) int
}{
	"in place":                  {Rollout{Strategy: InPlace}, func(n int) int { return n }},
	"rolling":                   {Rollout{Strategy: Rolling, MaxUnavailable: 1}, func(n int) int { return n - 1 }},
	"rolling by three":          {Rollout{Strategy: Rolling, MaxUnavailable: 3}, func(n int) int { return n - 3 }},
	"surge":                     {Rollout{Strategy: Surge, MaxSurge: 1}, func(n int) int { return n }},
	"surge by three":            {Rollout{Strategy: Surge, MaxSurge: 3}, func(n int) int { return n }},
	"scale to zero":             {Rollout{Strategy: ScaleToZero}, func(int) int { return 0 }},
	"scale to zero, and beyond": {Rollout{Strategy: ScaleToZero, Removed: true}, func(int) int { return 0 }},
}

const foreign = "vendor=x:NoSchedule"

// begun is a cloud whose machines have owned taints, beside foreign ones.
func begun(t *testing.T, seed uint64, machines int, from string) *cloud {
	t.Helper()
	c := newCloud(seed, machines, taintsOf(t, foreign)...)
	if from != "" {
		c.run(t, desire(t, Rolling, from), -1, 0)
	}
	c.want(t, machines, taintsOf(t, foreign+" "+from))
	c.made, c.deleted, c.going = 0, 0, 0
	return c
}

// TestNext_ends: whatever the strategy, the change, the number of machines and the
// order in which the controllers work, everything agrees at the end, the count is
// what it was, and no more machines were made than had to be.
func TestNext_ends(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		for change, tt := range changes {
			t.Run(name+", "+change, func(t *testing.T) {
				t.Parallel()
				for _, machines := range []int{0, 1, 3, 20} {
					// Each of twenty machines is looked at in each of some hundred rounds.
					for seed := range max(1, seeds(t, 3)/uint64(1+machines/10)) {
						c := begun(t, seed, machines, tt.from)
						d := desire(t, how.rollout.Strategy, tt.to)
						d.Rollout = how.rollout
						c.run(t, d, -1, how.least(machines))
						c.want(t, machines, taintsOf(t, foreign+" "+tt.to))
						if most := machines + how.rollout.MaxSurge; how.rollout.Strategy.Replaces() && c.made > most || !how.rollout.Strategy.Replaces() && c.made > 0 {
							t.Fatalf("%d machines were made for %d", c.made, machines)
						}
						if most := max(how.rollout.MaxUnavailable, how.rollout.MaxSurge); how.rollout.Strategy != ScaleToZero && c.going > most {
							t.Fatalf("%d machines were being deleted at once, and at most %d may be", c.going, most)
						}
						if again, _ := c.run(t, d, -1, 0); again > 0 {
							t.Fatalf("doing it again writes %d times", again)
						}
					}
				}
			})
		}
	}
}

// TestNext_endsWhateverOthersEdit: Next does not wait for changes that other writers make during the
// rollout, in the template, in machines and on nodes, and the owned taints end in sync.
func TestNext_endsWhateverOthersEdit(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		for change, tt := range changes {
			t.Run(name+", "+change, func(t *testing.T) {
				t.Parallel()
				for seed := range seeds(t, 12) {
					const machines = 4
					c := begun(t, seed, machines, tt.from)
					c.edits = 6
					d := desire(t, how.rollout.Strategy, tt.to)
					d.Rollout = how.rollout
					c.run(t, d, -1, how.least(machines))
					for c.step() {
					}
					o := c.observed()
					if v := viewOf(o, d); len(v.old)+len(v.repairNodes()) > 0 || v.template.Changed || o.Set.Marker != nil || o.Set.Replicas != machines || len(v.fresh) != machines {
						t.Fatalf("seed %d ends with %d old and %d fresh machines of %d, and the marker %v", seed, len(v.old), len(v.fresh), o.Set.Replicas, o.Set.Marker)
					}
				}
			})
		}
	}
}

// TestNext_aForeignEntryOfTheTemplate comes in the middle: machines that were made before lack
// it forever.
func TestNext_aForeignEntryOfTheTemplate(t *testing.T) {
	t.Parallel()
	for _, strategy := range []Strategy{Rolling, Surge, ScaleToZero} {
		c := begun(t, 1, 3, "team=a:NoExecute")
		d := desire(t, strategy, "team=b:NoExecute")
		c.run(t, d, 2, 0)
		for c.step() {
		}
		c.set.Taints = append(slices.Clone(c.set.Taints), taintsOf(t, "other:NoSchedule")...)
		c.set.Observed = false
		c.run(t, d, -1, 0)
	}
}

// TestNext_taintsOfJoiningNodesThatTheMachineHas are no sign that a node joins: nodelink puts them
// back, so that they stay.
func TestNext_taintsOfJoiningNodesThatTheMachineHas(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"node.cluster.x-k8s.io/uninitialized", "node.cloudprovider.kubernetes.io/uninitialized", corev1.TaintNodeNotReady} {
		for name, how := range rollouts {
			t.Run(name+", "+key, func(t *testing.T) {
				t.Parallel()
				const machines = 3
				template := foreign + " " + key + ":NoSchedule"
				c := newCloud(1, machines, taintsOf(t, template)...)
				d := desire(t, how.rollout.Strategy, "team=a:NoExecute")
				d.Rollout = how.rollout
				c.run(t, d, -1, how.least(machines))
				c.want(t, machines, taintsOf(t, template+" team=a:NoExecute"))
			})
		}
	}
}

// TestNext_survivesBeingKilled before each write, with the controllers going on
// meanwhile: the next run ends in the same state, and repeats no replacement.
func TestNext_survivesBeingKilled(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		for change, tt := range changes {
			t.Run(name+", "+change, func(t *testing.T) {
				t.Parallel()
				d := desire(t, how.rollout.Strategy, tt.to)
				d.Rollout = how.rollout
				const machines = 4
				for kill, done := 0, false; !done; kill++ {
					c := begun(t, uint64(kill), machines, tt.from)
					if _, done = c.run(t, d, kill, how.least(machines)); done {
						break
					}
					if kill > 0 && how.rollout.Strategy != TemplateOnly && c.set.Marker == nil {
						stale := len(viewOf(c.observed(), d).old)
						if stale > 0 {
							t.Fatalf("killed before write %d: %d machines are stale, and no marker says that a rollout was interrupted", kill, stale)
						}
					}
					for range c.r.IntN(30) {
						c.step()
					}
					c.run(t, d, -1, how.least(machines))
					c.want(t, machines, taintsOf(t, foreign+" "+tt.to))
					if how.rollout.Strategy.Replaces() && c.made > machines+how.rollout.MaxSurge {
						t.Fatalf("killed before write %d: %d machines were made for %d", kill, c.made, machines)
					}
				}
			})
		}
	}
}

// TestNext_goesOnWithOtherWishes: what was interrupted is followed by another
// strategy, and by another change, and nothing of either is left.
func TestNext_goesOnWithOtherWishes(t *testing.T) {
	t.Parallel()
	for first, how := range rollouts {
		for second, other := range rollouts {
			t.Run(first+", then "+second, func(t *testing.T) {
				t.Parallel()
				const machines = 4
				d := desire(t, how.rollout.Strategy, "team=b:NoExecute")
				d.Rollout = how.rollout
				e := desire(t, other.rollout.Strategy, "crew=c:NoExecute")
				e.Rollout = other.rollout
				for kill, done := 0, false; !done; kill++ {
					c := begun(t, uint64(kill), machines, "team=a:NoExecute")
					if _, done = c.run(t, d, kill, 0); done {
						break
					}
					for range c.r.IntN(30) {
						c.step()
					}
					c.run(t, e, -1, 0)
					c.want(t, machines, taintsOf(t, foreign+" crew=c:NoExecute"))
				}
			})
		}
	}
}

// TestNext_leavesOtherOwnersRolloutsToThem: what others change in the template, in machines
// or on nodes is no reason to replace a machine, and stays.
func TestNext_leavesOtherOwnersRolloutsToThem(t *testing.T) {
	t.Parallel()
	for name, how := range rollouts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begun(t, 1, 3, "team=a:NoExecute")
			d := desire(t, how.rollout.Strategy, "team=a:NoExecute")
			d.Rollout = how.rollout
			c.set.Taints = append(c.set.Taints, taintsOf(t, "other=y:NoSchedule")...)
			c.machines[0].Taints = slices.Delete(slices.Clone(c.machines[0].Taints), 0, 1)
			c.nodes[c.machines[1].Node].Taints = append(slices.Clone(c.nodes[c.machines[1].Node].Taints), taintsOf(t, "mine:NoExecute")...)
			if writes, _ := c.run(t, d, -1, 3); writes > 0 {
				t.Fatalf("%d writes were made", writes)
			}
		})
	}
}

// TestNext_beginsWithOnePatch: template, count and marker change together, so that
// no kill leaves a count that is not known.
func TestNext_beginsWithOnePatch(t *testing.T) {
	t.Parallel()
	for strategy, replicas := range map[Strategy]*int{InPlace: nil, Rolling: nil, Surge: new(4), ScaleToZero: new(0)} {
		t.Run(string(strategy), func(t *testing.T) {
			t.Parallel()
			c := begun(t, 1, 3, "team=a:NoExecute")
			d := Next(c.observed(), desire(t, strategy, "team=b:NoExecute spot:NoSchedule"), time.Unix(0, 0))
			if len(d.Intents) != 1 || d.Intents[0].Kind != WriteSet {
				t.Fatalf("it begins with %v", d.Intents)
			}
			w := d.Intents[0].Set
			if (w.Replicas == nil) != (replicas == nil) || replicas != nil && *w.Replicas != *replicas {
				t.Errorf("the count becomes %v, want %v", w.Replicas, replicas)
			}
			surge := 0
			if strategy == Surge {
				surge = 1
			}
			want := &Marker{ID: "terraform/gpu", Strategy: strategy, OriginalReplicas: 3, Surge: surge, TargetTaints: []string{"spot:NoSchedule", "team=b:NoExecute"}, StartedAt: time.Unix(0, 0).UTC()}
			if diff := cmp.Diff(want, w.Marker); diff != "" || w.Template == nil {
				t.Errorf("the template is %v, and the marker: %s", w.Template, diff)
			}
		})
	}
}

func TestNext_templateOnlyLeavesMachines(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 3, "team=a:NoExecute")
	d := desire(t, TemplateOnly, "team=b:NoExecute")
	if writes, _ := c.run(t, d, -1, 3); writes != 1 {
		t.Fatalf("%d writes were made, want one", writes)
	}
	if got := len(viewOf(c.observed(), d).old); got != 3 {
		t.Fatalf("%d machines are stale, want 3", got)
	}
}

func TestNext_stops(t *testing.T) {
	t.Parallel()
	surging := &Marker{ID: "terraform/gpu", Strategy: Surge, OriginalReplicas: 3, Surge: 1}
	zeroing := &Marker{ID: "terraform/gpu", Strategy: ScaleToZero, OriginalReplicas: 3}
	const scale, forget = "kubectl scale machineset.machine.openshift.io gpu -n openshift-machine-api --replicas=", "kubectl annotate machineset.machine.openshift.io gpu -n openshift-machine-api kubetaint.io/rollout-"
	for name, tt := range map[string]struct {
		strategy Strategy
		change   func(c *cloud)
		want     []string
	}{
		"where another resource rolls out": {Rolling, func(c *cloud) { c.set.Marker = &Marker{ID: "other/x", Strategy: Surge, OriginalReplicas: 3} }, []string{
			`"other/x" began a rollout of MachineSet "openshift-machine-api/gpu" at 0001-01-01 00:00:00 UTC (strategy surge), and it has not ended.`, "make sure that spec.replicas is 3 (" + scale + "3)", forget}},
		"where another writer scales a surge": {Surge, func(c *cloud) { c.set.Marker, c.set.Replicas = surging, 7 }, []string{
			`Another writer scaled MachineSet "openshift-machine-api/gpu" to 7 during a rollout`, "when spec.replicas was 3, and now expects 3 or 4", "which ends with 3 replicas: " + scale + "4\n", forget + "\n", "replaces the machines that are still old"}},
		"where another writer scales a surge whose machines are all new": {Surge, func(c *cloud) {
			c.set.Marker, c.set.Replicas, c.set.Taints = surging, 7, taintsOf(t, "team=b:NoExecute")
			c.set.Record = taint.Record{{Key: "team", Effect: "NoExecute", Owner: "terraform/gpu", Generation: "g1"}}
			for _, m := range c.machines {
				m.Taints, c.nodes[m.Node].Taints = c.set.Taints, c.set.Taints
			}
		}, []string{"expects 3 or 4", scale + "3\n"}},
		"where another writer scales from zero": {ScaleToZero, func(c *cloud) { c.set.Marker, c.set.Replicas = zeroing, 1 }, []string{"to 1 during a rollout", "and now expects 0 or 3", scale + "3\n"}},
		"where a new machine fails": {Rolling, func(c *cloud) {
			c.set.Taints = taintsOf(t, "team=b:NoExecute")
			c.machines[2].Taints, c.machines[2].Phase, c.machines[2].Error = c.set.Taints, phaseFailed, "no capacity"
		}, []string{`m2" has failed: no capacity. The rollout deletes no more machines while it is there.`, "kubectl delete machine.machine.openshift.io m2 -n "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begun(t, 1, 3, "team=a:NoExecute")
			for i, m := range c.machines {
				m.Name = fmt.Sprintf("m%d", i)
			}
			tt.change(c)
			planned := Stops(c.observed(), desire(t, tt.strategy, "team=b:NoExecute"))
			d := Next(c.observed(), desire(t, tt.strategy, "team=b:NoExecute"), time.Unix(0, 0))
			for len(d.Intents) == 1 && d.Intents[0].Kind == WriteSet {
				c.carry(d.Intents[0])
				c.set.Observed = true
				d = Next(c.observed(), desire(t, tt.strategy, "team=b:NoExecute"), time.Unix(0, 0))
			}
			for _, want := range tt.want {
				if !strings.Contains(d.Stop, want) {
					t.Errorf("it says %q with %d intents, want %q", d.Stop, len(d.Intents), want)
				}
				if !strings.Contains(planned, want) {
					t.Errorf("the plan says %q, want %q", planned, want)
				}
			}
		})
	}
}

// TestNext_isNotDoneBeforeTheControllerHasSeenTheTemplate: it could still make a machine of the
// one before, which nothing replaces in place.
func TestNext_isNotDoneBeforeTheControllerHasSeenTheTemplate(t *testing.T) {
	t.Parallel()
	c := begun(t, 1, 2, "team=a:NoExecute")
	c.set.Marker = &Marker{ID: "terraform/gpu", Strategy: InPlace, OriginalReplicas: 2}
	c.set.Observed = false
	if d := Next(c.observed(), desire(t, InPlace, "team=a:NoExecute"), time.Unix(0, 0)); d.Done || d.Last || len(d.Intents) > 0 {
		t.Errorf("it goes on with %+v", d)
	}
	c.set.Observed = true
	if d := Next(c.observed(), desire(t, InPlace, "team=a:NoExecute"), time.Unix(0, 0)); !d.Last {
		t.Errorf("it does not end with %+v", d)
	}
}

// TestNext_stopsWhereItsMarkerIsTakenAway: the count of before is lost with it, and what
// stands there now may be that of the middle.
func TestNext_stopsWhereItsMarkerIsTakenAway(t *testing.T) {
	t.Parallel()
	for _, strategy := range []Strategy{ScaleToZero, Surge, Rolling, InPlace} {
		c := begun(t, 1, 3, "team=a:NoExecute")
		d := desire(t, strategy, "team=b:NoExecute")
		c.run(t, d, 1, 0)
		if c.set.Marker == nil {
			t.Fatalf("%s has not begun", strategy)
		}
		c.set.Marker, d.Begun = nil, c.set.Marker
		for now, want := range map[int]string{
			3: "spec.replicas is 3, as it was before the rollout. Run again: the next run goes on with",
			0: "spec.replicas is 0 now and was 3 before the rollout, and without the annotation no later run brings it back. Scale the MachineSet yourself (kubectl scale machineset.machine.openshift.io " + c.set.Name + " -n " + c.set.Namespace + " --replicas=3), and run again: the next run goes on with",
		} {
			if now == 0 && !d.Begun.Scales() {
				want = "spec.replicas is 0 and was 3 before the rollout, which does not change it. Run again: the next run goes on with"
			}
			c.set.Replicas = now
			if got := Next(c.observed(), d, time.Unix(0, 0)); !strings.Contains(got.Stop, "Another writer removed the annotation "+MarkerAnnotation) || !strings.Contains(got.Stop, want) || got.Done || len(got.Intents) > 0 {
				t.Errorf("%s: it says %q with %d intents, and done is %v", strategy, got.Stop, len(got.Intents), got.Done)
			}
		}
	}
}
