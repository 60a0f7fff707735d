// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestStep_String(t *testing.T) {
	t.Parallel()
	web := &workload.Workload{Ref: workload.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	nodes := func(n int) []Switch { return make([]Switch, n) }
	one, pins := make([]corev1.Toleration, 1), label.Merged{Missing: []string{"pool"}, Changes: map[string]*string{"pool": new("gpu")}}
	for _, tt := range []struct {
		want string
		step Step
	}{
		{"label 1 node", Step{Kind: Label, Labels: LabelPlan{Switches: make([]LabelSwitch, 1)}}},
		{"add tolerations to Deployment shop/web", Step{Kind: Expand, Workload: web, Merged: toleration.Merged{Missing: one}}},
		{"add a node selector to Deployment shop/web", Step{Kind: Expand, Workload: web, Pins: pins}},
		{"add tolerations and a node selector to Deployment shop/web", Step{Kind: Expand, Workload: web, Merged: toleration.Merged{Missing: one, Removed: one}, Pins: pins}},
		{"update the ownership records of Deployment shop/web", Step{Kind: Expand, Workload: web, Merged: toleration.Merged{Changed: true}}},
		{"wait for 1 pod of Deployment shop/web", Step{Kind: Wait, Workload: web, Pods: make([]*snapshot.Pod, 1)}},
		{"wait for 2 pods of Deployment shop/web", Step{Kind: Wait, Workload: web, Pods: make([]*snapshot.Pod, 2), Missing: 1}},
		{"wait for 1 missing pod of Deployment shop/web", Step{Kind: Wait, Workload: web, Missing: 1}},
		{"wait for the rollout of Deployment shop/web", Step{Kind: Wait, Workload: web}},
		{"change taints of 2 nodes", Step{Kind: ApplyTaints, Nodes: NodePlan{Switches: nodes(2)}}},
		{"remove tolerations from Deployment shop/web", Step{Kind: Contract, Workload: web, Merged: toleration.Merged{Removed: one}}},
		{"remove a node selector from Deployment shop/web", Step{Kind: Contract, Workload: web, Pins: label.Merged{Changes: map[string]*string{"pool": nil}}}},
		{"remove tolerations and a node selector from Deployment shop/web", Step{Kind: Contract, Workload: web, Merged: toleration.Merged{Removed: one}, Pins: label.Merged{Changes: map[string]*string{"pool": nil}}}},
		{"write policy p", Step{Kind: Admit, Policy: admission.Plan{Name: "p"}}},
		{"remove unneeded tolerations from policy p", Step{Kind: Withdraw, Policy: admission.Plan{Name: "p"}}},
		{"delete policy p", Step{Kind: Withdraw, Policy: admission.Plan{Name: "p", Delete: true}}},
		{"remove labels from 2 nodes", Step{Kind: Unlabel, Labels: LabelPlan{Switches: make([]LabelSwitch, 2)}}},
		{"label 1 MachineSet and 0 nodes", Step{Kind: Label, Sets: 1}},
		{"remove labels from 2 MachineSets and 1 node", Step{Kind: Unlabel, Sets: 2, Labels: LabelPlan{Switches: make([]LabelSwitch, 1)}}},
		{"roll taints out to the machines of 2 MachineSets", Step{Kind: ApplyTaints, Switch: &SetSwitch{Affected: make([]machineset.Affected, 2)}}},
		{"drain 1 node", Step{Kind: Drained, Drain: &NodeDrain{Nodes: []string{"a"}}}},
		{"update the ownership records of Deployment shop/web", Step{Kind: Expand, Workload: web, Merged: toleration.Merged{Removed: one}}},
		{"update the ownership records of Deployment shop/web", Step{Kind: Contract, Workload: web, Merged: toleration.Merged{Missing: one}}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := tt.step.String(); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestStep_Moves and strands by what it begins: a rollout of machines that an earlier apply has begun goes on anyway.
func TestStep_Moves(t *testing.T) {
	t.Parallel()
	reporting := func(verdict eviction.Verdict, stranded bool) *eviction.Report {
		return &eviction.Report{Pods: []eviction.PodVerdict{{Pod: &snapshot.Pod{Name: "p"}, Verdict: verdict, Stranded: stranded}}}
	}
	rollout := func(whole, begins *eviction.Report) Step {
		return Step{Kind: ApplyTaints, Report: whole, Switch: &SetSwitch{Begins: machineset.Impact{Report: begins}}}
	}
	for name, tt := range map[string]struct {
		step           Step
		moves, strands bool
	}{
		"a step without a report":               {},
		"pods stay":                             {step: Step{Report: reporting(eviction.Stays, false)}},
		"a pod that stays is stranded":          {step: Step{Report: reporting(eviction.Stays, true)}, strands: true},
		"a pod is evicted":                      {step: Step{Report: reporting(eviction.EvictedNow, false)}, moves: true},
		"a pod may be evicted":                  {step: Step{Report: reporting(eviction.Unknown, false)}, moves: true},
		"a stranded pod is evicted":             {step: Step{Report: reporting(eviction.EvictedAfter, true)}, moves: true, strands: true},
		"a rollout that begins":                 {step: rollout(nil, reporting(eviction.Drained, true)), moves: true, strands: true},
		"a rollout that goes on":                {step: rollout(reporting(eviction.Drained, true), nil)},
		"a rollout that begins and evicts none": {step: rollout(nil, reporting(eviction.Stays, false))},
	} {
		if tt.step.Moves() != tt.moves || tt.step.Strands() != tt.strands {
			t.Errorf("%s: moves pods %t, strands them %t", name, tt.step.Moves(), tt.step.Strands())
		}
	}
}
