// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// podsElsewhere returns the workloads of the pods on all nodes but the tainted ones, by UID.
func (p *places) podsElsewhere(tainted []string) map[string]string {
	p.t.Helper()
	pods, err := p.c.Admin.CoreV1().Pods(p.namespace).List(p.t.Context(), metav1.ListOptions{})
	p.must(err)
	out := map[string]string{}
	for i := range pods.Items {
		if on := pods.Items[i].Spec.NodeName; on != "" && !slices.Contains(tainted, on) {
			out[string(pods.Items[i].UID)] = pods.Items[i].Labels["app"]
		}
	}
	return out
}

// victims counts the pods of each workload that the scheduler has preempted on other nodes.
func (p *places) victims() map[string]int {
	p.t.Helper()
	events, err := p.c.Admin.EventsV1().Events(p.namespace).List(p.t.Context(), metav1.ListOptions{FieldSelector: "reason=Preempted"})
	p.must(err)
	out, left, seen := map[string]int{}, p.podsElsewhere(nil), map[string]bool{}
	for i := range events.Items {
		uid := string(events.Items[i].Regarding.UID)
		of, before := p.elsewhere[uid]
		// A pod that waits to be bound is rejected in place of being deleted, and is bound later on.
		if _, there := left[uid]; before && !there && !seen[uid] {
			seen[uid] = true
			out[of]++
		}
	}
	return out
}

// compareVictims compares how many pods the scheduler has preempted on other nodes, and whose where there are
// PodDisruptionBudgets.
func (p *places) compareVictims(out *placement.Outcome) {
	p.t.Helper()
	victims, n := p.victims(), 0
	for _, of := range victims {
		n += of
	}
	p.tally.mu.Lock()
	defer p.tally.mu.Unlock()
	p.tally.victims += n
	said := preemptedOf(out, p.namespace)
	var total placement.Range
	for _, of := range said {
		total = placement.Range{Min: total.Min + of.Min, Max: total.Max + of.Max}
	}
	if n < total.Min || n > total.Max {
		p.tally.wrongVictims++
		p.t.Logf("%d pods of other nodes are preempted, predicted %v", n, total)
	}
	if !p.protected {
		return
	}
	p.tally.guarded++
	for name := range p.workloads {
		if n := victims[name]; n < said[name].Min || n > said[name].Max {
			p.tally.unlike++
			p.t.Logf("%s %s: %d pods are preempted, predicted %v", p.classOf(name), name, n, said[name])
		}
	}
}

// preemptedOf returns how many pods of each workload of a namespace are preempted.
func preemptedOf(out *placement.Outcome, namespace string) map[string]placement.Range {
	said := map[string]placement.Range{}
	for i := range out.Workloads {
		if w := &out.Workloads[i]; w.Namespace == namespace && w.Preempted.Max > 0 {
			said[w.Name] = w.Preempted
		}
	}
	return said
}

// decides notes whether others are preempted where there are no PodDisruptionBudgets. It is the last to use the snapshot.
func (p *places) decides(s *snapshot.Snapshot, change eviction.Scenario, with *placement.Outcome) {
	if !p.protected || p.tally == nil {
		return
	}
	s.Budgets = nil
	if out := eviction.Evaluate(s, change, eviction.ComparisonOff).Outcome(); !maps.Equal(preemptedOf(out, p.namespace), preemptedOf(with, p.namespace)) {
		p.tally.mu.Lock()
		defer p.tally.mu.Unlock()
		p.tally.decisive++
	}
}
