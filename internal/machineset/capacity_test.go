// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// fleet is a MachineSet of machines that are all old; each has 4 cores and 16Gi.
func fleet(machines int, change func(o *Observed)) Observed {
	o := Observed{Set: &Set{Namespace: "openshift-machine-api", Name: "gpu", UID: "gpu", Replicas: machines, Observed: true}, Nodes: map[string]*snapshot.Node{}}
	for i := range machines {
		name := fmt.Sprintf("m%d", i)
		o.Machines = append(o.Machines, &Machine{Name: name, Set: "gpu", Phase: phaseRunning, Node: "node-" + name})
		o.Nodes["node-"+name] = &snapshot.Node{
			Name: "node-" + name, Ready: true, Labels: map[string]string{"pool": "gpu", "kubernetes.io/hostname": "node-" + name},
			Allocatable: &snapshot.Resources{MilliCPU: 4000, Memory: 16 << 30, Pods: 100},
		}
	}
	if change != nil {
		change(&o)
	}
	return o
}

func fresh(t *testing.T, o *Observed, machines ...int) {
	t.Helper()
	for _, i := range machines {
		o.Machines[i].Taints = taintsOf(t, "team=a:NoExecute")
	}
}

// TestPlan_gap is how much is missing at most, and for how long, in words.
func TestPlan_gap(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		machines int
		change   func(o *Observed)
		rollout  Rollout
		want     string
	}{
		"in_place takes nothing away":      {3, nil, Rollout{Strategy: InPlace}, "none of 3 machines is missing"},
		"template_only takes nothing away": {3, nil, Rollout{Strategy: TemplateOnly}, "none of 3 machines is missing"},
		"rolling takes one after the other": {3, nil, Rollout{Strategy: Rolling, MaxUnavailable: 1},
			"at most 1 of 3 machines (4 cpu and 16Gi memory of 12 cpu and 48Gi memory) is missing at a time, 3 times in turn: each from its drain until its replacement is ready"},
		"rolling takes as many as may be unavailable": {5, nil, Rollout{Strategy: Rolling, MaxUnavailable: 2},
			"at most 2 of 5 machines (8 cpu and 32Gi memory of 20 cpu and 80Gi memory) are missing at a time, 3 times in turn: each from its drain until its replacement is ready"},
		"rolling takes no more than there are": {1, nil, Rollout{Strategy: Rolling, MaxUnavailable: 4},
			"at most 1 of 1 machine (4 cpu and 16Gi memory) is missing at a time, once: each from its drain until its replacement is ready"},
		"rolling takes those that differ alone": {3, func(o *Observed) { fresh(t, o, 0, 1) }, Rollout{Strategy: Rolling, MaxUnavailable: 3},
			"at most 1 of 3 machines (4 cpu and 16Gi memory of 12 cpu and 48Gi memory) is missing at a time, once: each from its drain until its replacement is ready"},
		"the largest machines count where they differ in size": {2, func(o *Observed) {
			o.Nodes["node-m1"].Allocatable = &snapshot.Resources{MilliCPU: 32000, Memory: 8 << 30}
		}, Rollout{Strategy: Rolling, MaxUnavailable: 1},
			"at most 1 of 2 machines (32 cpu and 16Gi memory of 36 cpu and 24Gi memory) is missing at a time, 2 times in turn: each from its drain until its replacement is ready"},
		"a node that does not tell what it has is not left out in silence": {2, func(o *Observed) { o.Nodes["node-m1"].Allocatable = nil }, Rollout{Strategy: ScaleToZero},
			"all 2 machines (at least 4 cpu and 16Gi memory) are missing at the same time, from when they are marked as deleted until 2 new ones are ready"},
		"surge takes nothing away": {3, nil, Rollout{Strategy: Surge, MaxSurge: 2},
			"none of 3 machines is missing; up to 5 machines exist during the rollout"},
		"surge adds no more than are replaced": {3, func(o *Observed) { fresh(t, o, 0, 1) }, Rollout{Strategy: Surge, MaxSurge: 2},
			"none of 3 machines is missing; up to 4 machines exist during the rollout"},
		"scale_to_zero takes all": {3, nil, Rollout{Strategy: ScaleToZero},
			"all 3 machines (12 cpu and 48Gi memory) are missing at the same time, from when they are marked as deleted until 3 new ones are ready"},
		"scale_to_zero takes those that do not differ as well": {3, func(o *Observed) { fresh(t, o, 0, 1) }, Rollout{Strategy: ScaleToZero},
			"all 3 machines (12 cpu and 48Gi memory) are missing at the same time, from when they are marked as deleted until 3 new ones are ready"},
		"scale_to_zero that waits until all are gone": {1, nil, Rollout{Strategy: ScaleToZero, Removed: true},
			"1 of 1 machine (4 cpu and 16Gi memory) is missing at the same time, from when they are marked as deleted until every one is gone and then a new one is ready"},
		"scale_to_zero takes nothing where nothing differs": {3, func(o *Observed) { fresh(t, o, 0, 1, 2) }, Rollout{Strategy: ScaleToZero}, "0 of 3 machines are missing at the same time, from when they are marked as deleted until 3 new ones are ready"},
		"an interrupted scale_to_zero goes on": {3, func(o *Observed) {
			o.Machines, o.Set.Replicas = nil, 0
			o.Set.Marker = &Marker{ID: "terraform/gpu", Strategy: ScaleToZero, OriginalReplicas: 3}
		}, Rollout{Strategy: ScaleToZero}, "all 3 machines are missing at the same time, from when they are marked as deleted until 3 new ones are ready"},
		"an interrupted surge comes first": {3, func(o *Observed) {
			o.Set.Replicas = 5
			o.Set.Marker = &Marker{ID: "terraform/gpu", Strategy: Surge, OriginalReplicas: 3, Surge: 2}
		}, Rollout{Strategy: Rolling, MaxUnavailable: 3}, "none of 3 machines is missing; up to 5 machines exist during the rollout"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			d := desire(t, tt.rollout.Strategy, "team=a:NoExecute")
			d.Rollout = tt.rollout
			if got := Plan(fleet(tt.machines, tt.change), d).Gap.Words(); got != tt.want {
				t.Errorf("it says\n  %s\nwant\n  %s", got, tt.want)
			}
		})
	}
}
