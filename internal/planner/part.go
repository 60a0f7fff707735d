// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TaintsNodes reports whether all that a change does is to write taints of nodes: the pods of these nodes
// alone can then show that none is evicted.
func (c Change) TaintsNodes() bool {
	return len(c.Nodes) > 0 && len(c.Labels)+len(c.MachineSets.Sets)+len(c.Workloads)+len(c.Policies) == 0 && c.Drain == nil
}

// Settled reports whether the steps of a plan have nothing to tell about any pod, by a snapshot of
// some nodes' pods: see eviction.Report.Settled.
func (p Plan) Settled(admitsAsIs bool) bool {
	_, report := p.Impact()
	return p.unhindered() && report.Settled(admitsAsIs)
}

// OpenPlaces reports whether a few more nodes' pods may settle the plan.
func (p Plan) OpenPlaces() bool {
	_, report := p.Impact()
	return p.unhindered() && report.OpenPlaces()
}

// unhindered reports whether no refusal, conflict or error blocks the plan.
func (p Plan) unhindered() bool {
	return len(p.Refusals)+len(p.Conflicts)+len(p.DrainRefusals) == 0 && p.PolicyErr == nil
}

// Roomy returns up to n nodes, beside some, that are most likely to take pods: ready ones without a cordon
// and without taints that keep pods away, also of other resources of the run, those with most CPU first.
func Roomy(s *snapshot.Snapshot, beside []string, n int) []string {
	var fit []*snapshot.Node
	for _, node := range s.SortedNodes() {
		away := slices.ContainsFunc(s.Others.Tainted(node.Name, node.Taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
		if node.Ready && !node.Unschedulable && !away && !slices.Contains(beside, node.Name) {
			fit = append(fit, node)
		}
	}
	cpu := func(n *snapshot.Node) int64 {
		if n.Allocatable == nil {
			return 0
		}
		return n.Allocatable.MilliCPU
	}
	slices.SortStableFunc(fit, func(a, b *snapshot.Node) int {
		return cmp.Or(cmp.Compare(cpu(b), cpu(a)), strings.Compare(a.Name, b.Name))
	})
	var out []string
	for _, node := range fit[:min(n, len(fit))] {
		out = append(out, node.Name)
	}
	return out
}

// Unaffected reports whether none of the pods of a snapshot of some nodes may be of a workload of which the run changes the
// tolerations: such a snapshot does not know the workload of each pod. It is false where pods of other nodes may restart,
// and be placed on these.
func Unaffected(s *snapshot.Snapshot, planned map[snapshot.WorkloadKey]eviction.Planned) bool {
	namespaces := map[string]bool{}
	for key, change := range planned {
		if change.Restarts && !key.DaemonSet() {
			return false
		}
		namespaces[key.Namespace] = true
	}
	for _, pods := range s.Pods {
		if slices.ContainsFunc(pods, func(p *snapshot.Pod) bool { return namespaces[p.Namespace] }) {
			return false
		}
	}
	return true
}
