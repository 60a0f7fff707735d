// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package preview

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// drain fills in what a drain would do: with the same judgement as the plan of the action
// kubetaint_drain_nodes.
func (w WhatIf) drain(s *snapshot.Snapshot, comparison eviction.Comparison) WhatIf {
	d := planner.NodeDrain{Rules: *w.Drain}
	for _, n := range s.SortedNodes() {
		if !w.Target.Matches(n) {
			continue
		}
		d.Nodes = append(d.Nodes, n.Name)
		if n.Unschedulable {
			w.cordoned = append(w.cordoned, n.Name)
		}
	}
	slices.Sort(d.Nodes)
	w.Matched = len(d.Nodes)
	if w.Matched > 0 && d.SelectsNone(s) {
		w.Unmatched = d.Nodes[0]
	}
	plan := planner.Order(s, planner.Change{Drain: &d}, comparison)
	w.Refusals = plan.DrainRefusals
	if w.Force {
		w.Refusals = forced(s, d, comparison)
	}
	for _, one := range plan.DrainDeadlocks(s) {
		if one.Possible {
			w.Doubts = append(w.Doubts, one.Why)
		} else {
			w.Stuck = append(w.Stuck, one.Why)
		}
	}
	_, w.Report = plan.Impact()
	return w
}

// forced returns which pods stop a drain that evicts pods without a controller: those that would if each
// had one (kubectl drain --force; k8s.io/kubectl v0.37.2 pkg/drain/filters.go, unreplicatedFilter). The
// action kubetaint_drain_nodes never evicts them, and the planner has no rule for it.
func forced(s *snapshot.Snapshot, d planner.NodeDrain, comparison eviction.Comparison) []planner.DrainRefusal {
	owned := &snapshot.Snapshot{Nodes: s.Nodes, Pods: map[string][]*snapshot.Pod{}, Budgets: s.Budgets}
	for _, name := range d.Nodes {
		for _, p := range s.Pods[name] {
			if p.Controller == nil {
				same := *p
				same.Controller, p = &snapshot.Controller{}, &same
			}
			owned.Pods[name] = append(owned.Pods[name], p)
		}
	}
	return planner.Order(owned, planner.Change{Drain: &d}, comparison).DrainRefusals
}
