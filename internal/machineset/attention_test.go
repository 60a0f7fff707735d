// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
)

func TestUnattended(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		set  Set
		want bool
	}{
		"never observed in another namespace":           {Set{Namespace: "team-a", Written: now.Add(-time.Minute)}, true},
		"an old generation observed there":              {Set{Namespace: "team-a", Reconciled: true, Written: now.Add(-time.Minute)}, true},
		"the newest generation observed there":          {Set{Namespace: "team-a", Reconciled: true, Observed: true, Written: now.Add(-time.Minute)}, false},
		"written a moment ago":                          {Set{Namespace: "team-a", Written: now.Add(-29 * time.Second)}, false},
		"written later than this machine's clock tells": {Set{Namespace: "team-a", Written: now.Add(time.Hour)}, false},
		"the operator's namespace":                      {Set{Namespace: "openshift-machine-api", Written: now.Add(-time.Hour)}, false},
		"the Cluster API has the authority":             {Set{Namespace: "team-a", Authority: "ClusterAPI", Written: now.Add(-time.Hour)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.set.Unattended(now); got != tt.want {
				t.Errorf("unattended: %t, want %t", got, tt.want)
			}
		})
	}
}

// TestNext_whereNoControllerActs: deleted machines would not be replaced, so a rollout that replaces
// machines does not begin; the other strategies wait for nothing.
func TestNext_whereNoControllerActs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy Strategy
		machines int
		// reconciled is set where a controller has acted earlier.
		reconciled bool
		stops      bool
	}{
		"rolling":                              {Rolling, 2, false, true},
		"surge":                                {Surge, 2, false, true},
		"scale_to_zero":                        {ScaleToZero, 2, false, true},
		"in_place":                             {InPlace, 2, false, false},
		"template_only":                        {TemplateOnly, 2, false, false},
		"rolling, without machines":            {Rolling, 0, false, false},
		"rolling, where one has acted earlier": {Rolling, 2, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := begun(t, 1, tt.machines, "team=a:NoExecute")
			c.set.Observed = false
			observed := func() Observed {
				o := c.observed()
				o.Set.Namespace, o.Set.Observed, o.Set.Reconciled, o.Unattended = "team-a", false, tt.reconciled, true
				return o
			}
			desired := desire(t, tt.strategy, "team=b:NoExecute")
			if planned := Stops(observed(), desired); (planned != "") != tt.stops || tt.stops && !strings.Contains(planned, `No controller acts on MachineSet "team-a/gpu"`) {
				t.Errorf("the plan says %q", planned)
			}
			d := Next(observed(), desired, time.Unix(0, 0))
			for range 10 {
				if len(d.Intents) == 0 || d.Last {
					break
				}
				for _, intent := range d.Intents {
					c.carry(intent)
				}
				if tt.reconciled {
					return // It waits for that controller.
				}
				d = Next(observed(), desired, time.Unix(0, 0))
			}
			if (d.Stop != "") != tt.stops || !tt.stops && !d.Done && !d.Last {
				t.Errorf("it ends with %+v", d)
			}
		})
	}
}

// TestPlanLabels_waitsForNoControllerThatDoesNotAct before it forgets labels that go.
func TestPlanLabels_waitsForNoControllerThatDoesNotAct(t *testing.T) {
	t.Parallel()
	set := &Set{
		Namespace: "team-a", Name: "gpu",
		LabelRecord: label.Record{{Key: "team", Owner: "terraform/gpu", Generation: "g1"}},
	}
	claim := label.Claim{Owner: "terraform/gpu", Generation: "g1", Release: true}
	if l := PlanLabels(Observed{Set: set}, claim); !l.Waits {
		t.Fatalf("it does not wait for a controller: %+v", l)
	}
	if l := PlanLabels(Observed{Set: set, Unattended: true}, claim); l.Waits || len(l.Intents) != 1 {
		t.Errorf("it waits, or writes otherwise than once: %+v", l)
	}
}
