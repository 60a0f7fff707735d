// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestRestartedOnto has a pod on node b that the steps restart, while another resource taints node a.
func TestRestartedOnto(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Deployment", "web")
	gpu, tolerates := "gpu", []corev1.Toleration{{Key: "x", Operator: corev1.TolerationOpExists}}
	p := podRequiring(w, nil)
	p.Node, p.Name = "b", "web-3"
	s := aSnapshot([]*snapshot.Node{aNode(t, "a", ""), aNode(t, "b", "")}, p)
	others := &snapshot.Others{Taints: map[string][]corev1.Taint{"a": {{Key: "x", Effect: corev1.TaintEffectNoExecute}}}}
	step := func(kind StepKind, change func(*Step)) Step {
		out := Step{Kind: kind, Workload: w, Pods: []*snapshot.Pod{p}, Merged: toleration.Merged{Template: true}}
		if change != nil {
			change(&out)
		}
		return out
	}
	key := w.Pods[0]
	for name, tt := range map[string]struct {
		steps   []Step
		planned map[snapshot.WorkloadKey]eviction.Planned
		want    int
	}{
		"a write of the template":     {steps: []Step{step(Expand, nil)}, want: 1},
		"a removal":                   {steps: []Step{step(Contract, nil)}, want: 1},
		"a wait restarts no pod":      {steps: []Step{step(Wait, nil)}},
		"no pod":                      {steps: []Step{step(Expand, func(s *Step) { s.Pods = nil })}},
		"tolerations of the step":     {steps: []Step{step(Expand, func(s *Step) { s.Merged.Tolerations = tolerates })}},
		"those of another resource":   {steps: []Step{step(Expand, nil)}, planned: map[snapshot.WorkloadKey]eviction.Planned{key: {After: tolerates}}},
		"a pin of the step":           {steps: []Step{step(Expand, func(s *Step) { s.Pins = label.Merged{Changes: map[string]*string{"pool": &gpu}} }), step(Contract, nil)}},
		"a pin of another resource":   {steps: []Step{step(Expand, nil)}, planned: map[snapshot.WorkloadKey]eviction.Planned{key: {Labels: map[string]*string{"pool": &gpu}}}},
		"pods that keep the template": {steps: []Step{step(Expand, func(s *Step) { held := *w; held.Rolling = workload.Rolling{Hold: "it is paused"}; s.Workload = &held })}},
		"pods above a partition": {steps: []Step{step(Expand, func(s *Step) {
			held := *w
			held.Rolling = workload.Rolling{Hold: "a partition", Below: 1}
			s.Workload = &held
		})}, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, nodes := RestartedOnto(s, others, tt.steps, tt.planned, eviction.ComparisonOff)
			if n := len(got); n != tt.want || n > 0 && (got[0].Pods != 1 || len(nodes) != 1) {
				t.Errorf("%v on %v, want %d", got, nodes, tt.want)
			}
		})
	}
}
