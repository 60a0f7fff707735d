// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/golden"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// The goldens are whole warnings, to be read aloud.
func TestWarnRestarts_goldens(t *testing.T) {
	t.Parallel()
	contract := func(kind, name, manner string, pods int) planner.Step {
		step := planner.Step{
			Kind:     planner.Contract,
			Workload: &workload.Workload{Ref: workload.Ref{Kind: kind, Namespace: "shop", Name: name}, Rolling: workload.Rolling{Manner: manner}},
			Merged:   toleration.Merged{Changed: true, Template: true, Removed: []corev1.Toleration{{Key: "team", Operator: corev1.TolerationOpEqual, Value: "a", Effect: corev1.TaintEffectNoExecute}}},
		}
		for i := range pods {
			step.Pods = append(step.Pods, &snapshot.Pod{Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i)})
		}
		return step
	}
	about := Subject{Verb: "Removing", Taints: taintsOf(t, "team=a:NoExecute"), Preposition: "from", Where: `3 nodes matching "pool=a"`}
	web, agent := contract("Deployment", "web", "with at most 25% more and 25% fewer than 4 at a time", 4), contract("DaemonSet", "agent", "at most 1 at a time", 3)
	for name, tt := range map[string]struct {
		steps []planner.Step
		warns bool
	}{
		"one":              {steps: []planner.Step{web}, warns: true},
		"two":              {steps: []planner.Step{web, agent}, warns: true},
		"beside-no-pods":   {steps: []planner.Step{web, contract("CronJob", "report", "later", 0)}, warns: true},
		"nothing":          {},
		"no-pods-restart":  {steps: []planner.Step{contract("CronJob", "report", "later", 0)}},
		"no-template-step": {steps: []planner.Step{{Kind: planner.Contract, Workload: web.Workload, Merged: toleration.Merged{Changed: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var diags diag.Diagnostics
			WarnRestarts(about, planner.Plan{Steps: tt.steps}, &diags)
			if !tt.warns {
				if len(diags) > 0 {
					t.Errorf("no pod restarts, and it says %v", diags)
				}
				return
			}
			golden.Check(t, "restarts-"+name+".golden", diags[0].Summary()+"\n\n"+diags[0].Detail()+"\n")
		})
	}
}
