// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Placements looks for nodes for the pods that replace these once the tolerations of their workload
// have changed. Nodes in taints get the taints listed there; other nodes keep the taints that they
// have.
func Placements(s *snapshot.Snapshot, pods []*snapshot.Pod, change Planned, taints map[string][]corev1.Taint, comparison Comparison) []placement.Placement {
	planned := make(map[snapshot.WorkloadKey]Planned)
	for _, p := range pods {
		planned[snapshot.WorkloadKey{Namespace: p.Namespace, Owner: s.Owner(p)}] = change
	}
	e := newEvaluation(s, Scenario{Taints: taints, Tolerations: planned}, comparison)
	out := make([]placement.Placement, len(pods))
	for i, p := range pods {
		scheduling, _, _ := e.planned(p, s.Owner(p))
		if out[i].Found = e.nodes().Fits(p, scheduling); !out[i].Found {
			out[i].Obstacles = strings.TrimPrefix(e.nodes().Obstacles(p, scheduling), ": ")
		}
	}
	return out
}
