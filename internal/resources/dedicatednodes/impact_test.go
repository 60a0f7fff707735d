// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestImpact_namesWhatEvictsOrStrandsPods: what is counted is of all steps.
func TestImpact_namesWhatEvictsOrStrandsPods(t *testing.T) {
	t.Parallel()
	report := func(verdict eviction.PodVerdict) *eviction.Report {
		verdict.Pod = &snapshot.Pod{Namespace: "shop", Name: "web", Node: "n1"}
		return &eviction.Report{Nodes: []string{"n1"}, Pods: []eviction.PodVerdict{verdict}}
	}
	pin := func(name string) planner.Step {
		gpu := "gpu"
		return planner.Step{
			Kind: planner.Expand, Workload: &workload.Workload{Ref: workload.Ref{Kind: "DaemonSet", Namespace: "platform", Name: name}},
			Pins: label.Merged{Changes: map[string]*string{"pool": &gpu}}, Report: report(eviction.PodVerdict{Verdict: eviction.EvictedNow}),
		}
	}
	taints := func(verdict eviction.PodVerdict) planner.Step {
		merged := taint.Merged{Taints: []corev1.Taint{{Key: "team", Value: "b", Effect: corev1.TaintEffectNoSchedule}}, Changed: true}
		return planner.Step{Kind: planner.ApplyTaints, Nodes: planner.NodePlan{Switches: []planner.Switch{{Node: &snapshot.Node{Name: "n1"}, Merged: merged}}}, Report: report(verdict)}
	}
	for name, tt := range map[string]struct {
		steps []planner.Step
		want  string
	}{
		"taints by which pods leave":         {[]planner.Step{taints(eviction.PodVerdict{Verdict: eviction.EvictedNow})}, `apply team=b:NoSchedule to node "n1"`},
		"taints that strand pods which stay": {[]planner.Step{taints(eviction.PodVerdict{Verdict: eviction.Stays, Stranded: true})}, `apply team=b:NoSchedule to node "n1"`},
		"a pin":                              {[]planner.Step{pin("a")}, `add node selector pool=gpu to DaemonSet "platform/a"`},
		"several pins":                       {[]planner.Step{pin("a"), pin("b"), pin("c")}, `add node selector pool=gpu to DaemonSet "platform/a" and 2 more`},
		"taints and a pin":                   {[]planner.Step{pin("a"), taints(eviction.PodVerdict{Verdict: eviction.EvictedNow})}, `apply team=b:NoSchedule to node "n1" and pin 1 DaemonSet`},
		"taints that strand, whatever leaves by pins": {[]planner.Step{pin("a"), pin("b"), taints(eviction.PodVerdict{Verdict: eviction.Stays, Stranded: true})}, `apply team=b:NoSchedule to node "n1" and pin 2 DaemonSets`},
		"a pin beside taints that do nothing to pods": {[]planner.Step{pin("a"), taints(eviction.PodVerdict{Verdict: eviction.Stays})}, `add node selector pool=gpu to DaemonSet "platform/a"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w wanted
			w.nodes.Target.Names = []string{"n1"}
			if got := w.aboutSteps(tt.steps).String(); got != tt.want {
				t.Errorf("it is about %q, want %q", got, tt.want)
			}
		})
	}
}
