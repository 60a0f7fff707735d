// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Repin returns a verdict for each pod of a DaemonSet that is deleted because its template gets
// this node selector, sorted by node, namespace and name. The DaemonSet controller deletes these
// pods immediately, whatever the update strategy and its maxUnavailable, and does not recreate
// them (k8s.io/kubernetes v1.37.1 pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode
// and NodeShouldRunDaemonPod). Pods of an unknown template and pods on nodes that it did not select
// before are left out: the change does not delete them.
func Repin(s *snapshot.Snapshot, pods []*snapshot.Pod, selector map[string]string, comparison Comparison) *Report {
	e := newEvaluation(s, Scenario{}, comparison)
	repinned := map[*snapshot.Scheduling]*snapshot.Scheduling{}
	report := &Report{Gaps: s.Gaps}
	for _, pod := range pods {
		owner := s.Owner(pod)
		before, node := e.daemon(pod, nil), s.Nodes[pod.Node]
		if before == nil || node == nil || pod.Terminating {
			continue
		}
		after, known := repinned[before]
		if !known {
			next := *before
			next.NodeSelector = selector
			after = &next
			repinned[before] = after
		}
		if !e.nodes().Selects(before, node.Name, node.Labels) || e.nodes().Selects(after, node.Name, node.Labels) {
			continue
		}
		v := PodVerdict{Pod: pod, Owner: owner, Verdict: EvictedNow, Reason: "pin makes its DaemonSet require labels that the node does not have"}
		e.consequences(&v, e.successor(after, pod.Node))
		report.Pods, report.Nodes = append(report.Pods, v), append(report.Nodes, pod.Node)
	}
	report = Join(report) // It sorts.
	e.coverByBudgets(report.Pods)
	report.crowding = e.crowds(report)
	e.simulating(report)
	report.elsewhere, report.places = e.snapshot.Others.Evicts(), e.asked()
	return report
}
