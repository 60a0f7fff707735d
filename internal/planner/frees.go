// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Frees returns the contractions that changes of taints lead to together: those of
// workloads whose retiring entries of these taints no live taint needs any more after
// the last of the changes, and of which it is known who has left them.
func Frees(s *snapshot.Snapshot, retiring []*workload.Workload, changes TaintChanges, comparison eviction.Comparison) []Step {
	o := &order{snapshot: s, comparison: comparison, taints: map[string][]corev1.Taint{}, ahead: newAhead()}
	nodes, named, known := s.SortedNodes(), slices.Clone(changes.Named), slices.Clone(changes.Known)
	for i, n := range nodes {
		for _, machines := range changes.Machines {
			if taints, changes := machines[n.Name]; changes {
				after := *n
				after.Taints = taints
				nodes[i], o.taints[n.Name] = &after, taints
			}
		}
	}
	for _, desired := range changes.Nodes {
		named, known = append(named, desired.Named()...), append(known, desired.Known...)
		switches := map[*snapshot.Node]Switch{}
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
		t := Tolerations{Workload: w, Claim: toleration.Claim{Path: w.ClaimPath(), Named: named, Known: known}}
		o.contract(t, t.template())
	}
	return o.plan.Steps
}

// Taken returns the taints that the plan takes off some node or gives another value,
// sorted.
func (p NodePlan) Taken() []corev1.Taint {
	var out []corev1.Taint
	for _, s := range p.Switches {
		out = append(out, beyond(s.Node.Taints, s.Merged.Taints)...)
	}
	return distinct(out)
}

// PutBack returns the taints that the plan removes and that the nodes' Machines carry, by node,
// where OpenShift's nodelink controller puts them back.
func (p NodePlan) PutBack(machines map[string][]corev1.Taint) map[string][]taint.ID {
	out := map[string][]taint.ID{}
	for _, s := range p.Switches {
		for _, id := range removed(s.Node, s.Merged) {
			if taint.Find(machines[s.Node.Machine], id) >= 0 {
				out[s.Node.Name] = append(out[s.Node.Name], id)
			}
		}
	}
	return out
}

// Taken returns the taints that nodes lose, or that get another value, sorted; after
// is what each will have, by name.
func Taken(nodes []*snapshot.Node, after map[string][]corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, n := range nodes {
		if taints, changes := after[n.Name]; changes {
			out = append(out, beyond(n.Taints, taints)...)
		}
	}
	return distinct(out)
}

func distinct(taints []corev1.Taint) []corev1.Taint {
	slices.SortFunc(taints, func(a, b corev1.Taint) int {
		return cmp.Or(taint.IDOf(a).Compare(taint.IDOf(b)), strings.Compare(a.Value, b.Value))
	})
	return slices.CompactFunc(taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value })
}

// TaintChanges are changes of taints: of nodes, and of nodes by way of the templates
// of MachineSets, for which Machines holds what each will have, by name, and Named which
// taints configurations or states name there. Known proves what may be taken away.
type TaintChanges struct {
	Nodes    []NodeTaints
	Machines []map[string][]corev1.Taint
	Named    []taint.ID
	Known    []record.Seal
}

// Switching is the changes of taints that the resources of one run plan: what one
// of them leaves in place another one may take away.
type Switching struct {
	mu      sync.Mutex
	planned TaintChanges
}

// Note adds changes, and returns all so far.
func (s *Switching) Note(more TaintChanges) TaintChanges {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned = TaintChanges{
		slices.Concat(s.planned.Nodes, more.Nodes), slices.Concat(s.planned.Machines, more.Machines),
		slices.Concat(s.planned.Named, more.Named), slices.Concat(s.planned.Known, more.Known),
	}
	return s.planned
}
