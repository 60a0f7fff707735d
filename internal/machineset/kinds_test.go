// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestUnattended_beginsAfterThirtySeconds(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 2, 0, 0, 0, time.UTC)
	for ago, want := range map[time.Duration]bool{30 * time.Second: false, 30*time.Second + 1: true} {
		if got := (&Set{Namespace: "team-a", Written: now.Add(-ago)}).Unattended(now); got != want {
			t.Errorf("%s after it was written: %t", ago, got)
		}
	}
}

func TestNeglected_saysWhatItsStatusShows(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		o    Observed
		want string
	}{
		"one that a controller acts on":      {Observed{Set: &Set{}}, ""},
		"one that none has ever acted on":    {Observed{Set: &Set{}, Unattended: true}, "Its status.observedGeneration has never been set, and it was last written more than 30s ago. "},
		"one that none acts on any more":     {Observed{Set: &Set{Reconciled: true}, Unattended: true}, "Its status.observedGeneration is older than its generation, and it was last written more than 30s ago. "},
		"one that a controller has acted on": {Observed{Set: &Set{Reconciled: true}}, ""},
	} {
		if got := tt.o.Neglected(); !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestGap_tellsWhatIsMissingOfOneResourceAlone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		missing, whole snapshot.Resources
		want           string
	}{
		"cores":   {snapshot.Resources{MilliCPU: 1000}, snapshot.Resources{MilliCPU: 2000}, " (" + snapshot.Resources{MilliCPU: 1000}.Words() + " of " + snapshot.Resources{MilliCPU: 2000}.Words() + ")"},
		"memory":  {snapshot.Resources{Memory: 1 << 30}, snapshot.Resources{Memory: 2 << 30}, " (" + snapshot.Resources{Memory: 1 << 30}.Words() + " of " + snapshot.Resources{Memory: 2 << 30}.Words() + ")"},
		"nothing": {},
	} {
		if got := (Gap{Strategy: Rolling, Machines: 1, All: 2, Turns: 1, Missing: tt.missing, Whole: tt.whole}).share(); got != "1 of 2 machines"+tt.want+" is" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestDifferences_ofAMachineWithoutANodeAreItsOwn(t *testing.T) {
	t.Parallel()
	m := &Machine{Name: "m"}
	got := Differences(Observed{Set: &Set{Taints: taintsOf(t, "a=1:NoSchedule")}, Machines: []*Machine{m}}, m)
	if len(got) != 1 || got[0].OnNode {
		t.Errorf("it differs by %v", got)
	}
}

// TestPlanLabels_conflictsOfAMachineWithoutANode, and of all wanted labels.
func TestPlanLabels_conflictsOfAMachineWithoutANode(t *testing.T) {
	t.Parallel()
	o := Observed{Set: &Set{Namespace: "machines", Name: "gpu"}, Machines: []*Machine{{Namespace: "machines", Name: "m", Labels: map[string]string{"a": "other", "b": "other"}}}}
	var got []string
	for _, c := range PlanLabels(o, label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"a": "1", "b": "1", "c": "1"}}).Conflicts {
		got = append(got, c.Where+" "+c.Key)
	}
	if diff := cmp.Diff([]string{`Machine "machines/m" a`, `Machine "machines/m" b`}, got); diff != "" {
		t.Error(diff)
	}
}
