// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// byName is one of 1,000 resources that taint a node each, and the nodes as all of them have left them.
func byName() (planner.NodeTaints, *snapshot.Snapshot) {
	gpu := corev1.Taint{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoExecute}
	s := &snapshot.Snapshot{Nodes: map[string]*snapshot.Node{}}
	var first planner.NodeTaints
	for i := range 1_000 {
		name, generation := fmt.Sprintf("node-%d", i), fmt.Sprintf("generation-%d", i)
		d := planner.NodeTaints{Target: planner.Target{Name: name}, Claim: taint.Claim{
			Owner: "terraform/node_taints/node/" + name + "/dedicated:NoExecute", Generation: generation,
			Seal: record.Seal{Nonce: "nonce-" + generation, Generation: generation}, Taints: []corev1.Taint{gpu},
		}}
		merged := planner.MergeNode(&snapshot.Node{Name: name}, d)
		s.Nodes[name] = &snapshot.Node{Name: name, Taints: merged.Taints, Record: merged.Record}
		if i == 0 {
			first = d
		}
	}
	return first, s
}

// BenchmarkByName measures what one of many resources by name asks of all nodes: to plan, to put steps in
// order, and to remember its marks. Each does so several times in a run.
func BenchmarkByName(b *testing.B) {
	desired, s := byName()
	nodes := s.SortedNodes()
	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			planner.PlanNodes(nodes, desired)
		}
	})
	b.Run("order", func(b *testing.B) {
		for b.Loop() {
			planner.Order(s, planner.Change{Nodes: []planner.NodeTaints{desired}}, 0)
		}
	})
	b.Run("hold", func(b *testing.B) {
		for b.Loop() {
			desired.Hold(nodes, record.Held{})
		}
	})
}
