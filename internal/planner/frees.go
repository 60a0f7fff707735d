// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Frees returns the contractions that changes of taints lead to together: those of
// workloads whose retiring entries no live taint needs any more after the last of
// the changes.
func Frees(s *eviction.Snapshot, retiring []*workload.Workload, changes []NodeTaints, comparison eviction.Comparison) []Step {
	o := &order{snapshot: s, comparison: comparison, taints: map[string][]corev1.Taint{}}
	nodes := s.SortedNodes()
	for _, desired := range changes {
		switches := map[*eviction.Node]Switch{}
		for _, one := range PlanNodes(nodes, desired).Switches {
			switches[one.Node] = one
		}
		for i, n := range nodes {
			if one, changes := switches[n]; changes {
				after := *n
				after.Taints, after.Record = one.Merged.Taints, one.Merged.Record
				nodes[i], o.taints[n.Name] = &after, after.Taints
			}
		}
	}
	for _, w := range retiring {
		t := Tolerations{Workload: w, Claim: toleration.Claim{Path: w.ClaimPath()}}
		o.contract(t, t.template())
	}
	return o.plan.Steps
}

// Taken returns the taints that the plan takes off some node or gives another value,
// sorted.
func (p NodePlan) Taken() []corev1.Taint {
	seen := map[string]bool{}
	var out []corev1.Taint
	for _, s := range p.Switches {
		for _, t := range beyond(s.Node.Taints, s.Merged.Taints) {
			if !seen[taint.Format(t)] {
				seen[taint.Format(t)] = true
				out = append(out, t)
			}
		}
	}
	return taint.Sort(out)
}

// Switching is the changes of taints that the resources of one run plan: what one
// of them leaves in place another one may take away.
type Switching struct {
	mu      sync.Mutex
	planned []NodeTaints
}

// Note adds a change, and returns all so far.
func (s *Switching) Note(desired NodeTaints) []NodeTaints {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = append(s.planned, desired)
	return append([]NodeTaints(nil), s.planned...)
}
