// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

func TestStep_String(t *testing.T) {
	t.Parallel()
	web := &workload.Workload{Ref: workload.Ref{Kind: "Deployment", Namespace: "shop", Name: "web"}}
	nodes := func(n int) []Switch { return make([]Switch, n) }
	for _, tt := range []struct {
		want string
		step Step
	}{
		{"label 1 node", Step{Kind: Label, Labels: LabelPlan{Switches: make([]LabelSwitch, 1)}}},
		{"expand Deployment shop/web", Step{Kind: Expand, Workload: web}},
		{"wait for 1 pod of Deployment shop/web", Step{Kind: Wait, Workload: web, Pods: make([]*eviction.Pod, 1)}},
		{"wait for 2 pods of Deployment shop/web", Step{Kind: Wait, Workload: web, Pods: make([]*eviction.Pod, 2), Missing: 1}},
		{"wait for 1 missing pod of Deployment shop/web", Step{Kind: Wait, Workload: web, Missing: 1}},
		{"wait for the rollout of Deployment shop/web", Step{Kind: Wait, Workload: web}},
		{"switch taints of 2 nodes", Step{Kind: Switched, Nodes: NodePlan{Switches: nodes(2)}}},
		{"contract Deployment shop/web", Step{Kind: Contract, Workload: web}},
		{"take labels off 2 nodes", Step{Kind: Unlabel, Labels: LabelPlan{Switches: make([]LabelSwitch, 2)}}},
	} {
		t.Run(tt.want, func(t *testing.T) {
			t.Parallel()
			if got := tt.step.String(); got != tt.want {
				t.Errorf("got %q", got)
			}
		})
	}
}
