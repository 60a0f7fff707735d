// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

var everyStrategy = []Strategy{TemplateOnly, InPlace, Rolling, Surge, ScaleToZero}

func TestRefuse(t *testing.T) {
	t.Parallel()
	bounds := func(most int) *Bounds { return &Bounds{Owner: "openshift-machine-api/gpu", Min: 1, Max: most} }
	for name, tt := range map[string]struct {
		change func(s *Set)
		// refused are the strategies with which it is.
		refused []Strategy
		why     string
		// another is set where another strategy is named.
		another bool
	}{
		"what no other writer manages is not":         {func(*Set) {}, nil, "", false},
		"control-plane machines are, with any":        {func(s *Set) { s.Role = "master" }, everyStrategy, "this MachineSet makes control-plane machines", false},
		"what Hive manages is, with any":              {func(s *Set) { s.Hive = true }, everyStrategy, "Hive manages this MachineSet", false},
		"what the Cluster API is authoritative for":   {func(s *Set) { s.Authority = "ClusterAPI" }, everyStrategy, "status.authoritativeAPI of this MachineSet is ClusterAPI, so", false},
		"what is migrating between the two":           {func(s *Set) { s.Authority = "Migrating" }, everyStrategy, "is being handed over from one API to another", false},
		"an autoscaled set is not scaled to zero":     {func(s *Set) { s.Autoscaler = bounds(9) }, []Strategy{ScaleToZero}, "scales it between 1 and 9", true},
		"nor does it surge beyond the maximum":        {func(s *Set) { s.Autoscaler = bounds(3) }, []Strategy{Surge, ScaleToZero}, "", true},
		"it surges up to the maximum":                 {func(s *Set) { s.Autoscaler = bounds(4) }, []Strategy{ScaleToZero}, "", true},
		"an autoscaled set without machines is not":   {func(s *Set) { s.Autoscaler, s.Replicas = bounds(1), 0 }, nil, "", false},
		"an autoscaled set that rolls out already is": {func(s *Set) { s.Autoscaler, s.Marker = bounds(3), &Marker{OriginalReplicas: 3} }, nil, "", false},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for _, strategy := range everyStrategy {
				got := Refuse(fleet(3, func(o *Observed) {
					if tt.change(o.Set); o.Set.Marker != nil {
						o.Set.Marker.Strategy = strategy
					}
				}), desire(t, strategy, "team=a:NoExecute"))
				refused := slices.Contains(tt.refused, strategy)
				if refused != (len(got) > 0) || refused && (!strings.Contains(got[0].Why, tt.why) || (got[0].Attribute == "strategy") != tt.another || got[0].Instead == "") {
					t.Errorf("%s: it refuses with %v, want %v: %q", strategy, got, refused, tt.why)
				}
			}
		})
	}
}

// TestRefuse_whatHiveManagesMayBeGivenUp: a destroy takes our entries away all the same.
func TestRefuse_aRecordThatNoAnnotationCanHold(t *testing.T) {
	t.Parallel()
	d := desire(t, InPlace, "team=a:NoExecute")
	for i := range 4000 {
		d.Claim.Taints = append(d.Claim.Taints, corev1.Taint{Key: strings.Repeat("k", 60) + strconv.Itoa(i), Effect: corev1.TaintEffectNoSchedule})
	}
	if got := Refuse(fleet(1, nil), d); len(got) != 1 || !strings.Contains(got[0].Why, "the limit for all is 262144") {
		t.Errorf("it refuses with %v", got)
	}
}

// TestRefuse_aMarkerThatNoAnnotationCanHold: a rollout that replaces every machine records each of them.
func TestRefuse_aMarkerThatNoAnnotationCanHold(t *testing.T) {
	t.Parallel()
	for machines, refused := range map[int]bool{10: false, 8000: true} {
		o := fleet(machines, nil)
		for i, m := range o.Machines {
			m.UID = types.UID(fmt.Sprintf("%036d", i))
		}
		if got := Refuse(o, cycle(Rollout{Strategy: Rolling, MaxUnavailable: 1})); (len(got) > 0) != refused || refused && !strings.Contains(got[0].Why, MarkerAnnotation+" would have") {
			t.Errorf("with %d machines it refuses with %v", machines, got)
		}
	}
}

// TestRefuse_nothingOfAMarkerThatIsNotWritten: other writers have filled the annotations.
func TestRefuse_nothingOfAMarkerThatIsNotWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		wants   string
		release bool
		refused bool
	}{
		"the template gets a taint":          {wants: "team=b:NoExecute", refused: true},
		"the template has the taint already": {wants: "team=a:NoExecute"},
		"the template's taint is given up":   {wants: "team=a:NoExecute", release: true},
	} {
		d := desire(t, TemplateOnly, "team=a:NoExecute")
		o := fleet(1, func(o *Observed) {
			had := taint.Merge(nil, nil, d.Claim.On(o.Set.Object()))
			o.Set.Taints, o.Set.Record, o.Set.OtherAnnotations = had.Taints, had.Record, 262144
		})
		wants := desire(t, TemplateOnly, tt.wants)
		wants.Claim.Release = tt.release
		if got := Refuse(o, wants); (len(got) > 0) != tt.refused {
			t.Errorf("%s: it refuses with %v", name, got)
		}
	}
}

func TestRefuse_whatHiveManagesMayBeGivenUp(t *testing.T) {
	t.Parallel()
	if got := Refuse(fleet(3, func(o *Observed) { o.Set.Hive = true }), desire(t, InPlace, "")); len(got) > 0 {
		t.Errorf("it refuses with %v", got)
	}
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	replacing := []Strategy{Rolling, Surge, ScaleToZero}
	for name, tt := range map[string]struct {
		change func(o *Observed)
		warned []Strategy
		what   string
	}{
		"nothing where all is well":                                       {func(*Observed) {}, nil, ""},
		"the annotation for scaling from zero disagrees":                  {func(o *Observed) { o.Set.CapacityTaints = "team=old:NoExecute" }, everyStrategy, `the annotation capacity.cluster-autoscaler.kubernetes.io/taints of the MachineSet is "team=old:NoExecute" and is not changed here`},
		"the annotation for scaling from zero agrees":                     {func(o *Observed) { o.Set.CapacityTaints = "team=a:NoExecute,vendor=x:NoSchedule" }, nil, ""},
		"another tool owns the replicas":                                  {func(o *Observed) { o.Set.Scalers = []string{"Argo CD"} }, replacing, "Argo CD sets spec.replicas as well"},
		"a machine has a lifecycle hook":                                  {func(o *Observed) { o.Machines[0].Hooks = []string{"Migrate of storage"} }, replacing, "machine m0 waits for the lifecycle hook Migrate of storage"},
		"a machine is not drained":                                        {func(o *Observed) { o.Machines[0].NoDrain = true }, replacing, "machine m0 is not drained (machine.openshift.io/exclude-node-draining)"},
		"scale_to_zero takes the machines that do not differ with it too": {func(o *Observed) { fresh(t, o, 0); o.Machines[0].NoDrain = true }, []Strategy{ScaleToZero}, "machine m0 is not drained"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for _, strategy := range everyStrategy {
				got := Warnings(fleet(3, tt.change), desire(t, strategy, "team=a:NoExecute"))
				if warned := slices.Contains(tt.warned, strategy); warned != (len(got) > 0) || warned && !strings.Contains(got[0], tt.what) {
					t.Errorf("%s: it says %q, want %v: %q", strategy, got, warned, tt.what)
				}
			}
		})
	}
}

// TestRefuse_aSurgeAddsNoMoreMachinesThanDiffer: of four machines one differs, and the maximum is five.
func TestRefuse_aSurgeAddsNoMoreMachinesThanDiffer(t *testing.T) {
	t.Parallel()
	for differing, refused := range map[int]bool{0: false, 1: false, 2: true} {
		d := desire(t, Surge, "team=a:NoExecute")
		d.Rollout.MaxSurge = 2
		o := fleet(4, func(o *Observed) { o.Set.Autoscaler = &Bounds{Max: 5} })
		for _, m := range o.Machines[differing:] {
			m.Taints = taintsOf(t, "team=a:NoExecute")
		}
		if got := Refuse(o, d); len(got) > 0 != refused {
			t.Errorf("where %d differ it refuses with %v", differing, got)
		}
	}
}

// TestRefuse_anAutoscaledSetOfAnotherStrategyThatWasInterrupted: the new one begins anew.
func TestRefuse_anAutoscaledSetOfAnotherStrategyThatWasInterrupted(t *testing.T) {
	t.Parallel()
	for strategy, refused := range map[Strategy]bool{ScaleToZero: true, Surge: true, Rolling: false, InPlace: false} {
		o := fleet(3, func(o *Observed) {
			o.Set.Autoscaler, o.Set.Marker = &Bounds{Min: 1, Max: 3}, &Marker{ID: "terraform/gpu", Strategy: Rolling, OriginalReplicas: 3}
		})
		if got := Refuse(o, desire(t, strategy, "team=a:NoExecute")); len(got) > 0 != refused {
			t.Errorf("%s: it refuses with %v", strategy, got)
		}
	}
}

// TestGoal: a strategy that does not change the count leaves it to an autoscaler.
func TestGoal(t *testing.T) {
	t.Parallel()
	for strategy, want := range map[Strategy]int{Rolling: 8, InPlace: 8, Surge: 3, ScaleToZero: 3} {
		o := Observed{Set: &Set{Replicas: 8, Marker: &Marker{Strategy: strategy, OriginalReplicas: 3}}}
		if got := o.goal(); got != want {
			t.Errorf("%s: %d, want %d", strategy, got, want)
		}
	}
}
