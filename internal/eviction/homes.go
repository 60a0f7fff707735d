// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Home says whether a pod that comes in the place of another one finds a node.
type Home struct {
	// Found is false where no node would take it, even if it came alone.
	Found bool
	// Obstacles says what keeps it away from the nodes but its own, where none
	// would take it.
	Obstacles string
}

// Homes looks for nodes for the pods that come in the place of these once the
// tolerations of their workload have changed. Of nodes that are about to change, the
// taints say what they will carry; the others are as they are.
func Homes(s *Snapshot, pods []*Pod, change Planned, taints map[string][]corev1.Taint, comparison Comparison) []Home {
	planned := make(map[WorkloadKey]Planned)
	for _, p := range pods {
		planned[WorkloadKey{p.Namespace, s.Owner(p)}] = change
	}
	e := newEvaluation(s, Change{Taints: taints, Tolerations: planned}, comparison)
	out := make([]Home, len(pods))
	for i, p := range pods {
		scheduling, _, _ := e.planned(p, s.Owner(p))
		if out[i].Found = e.home(p, scheduling); !out[i].Found {
			out[i].Obstacles = strings.TrimPrefix(e.obstacles(p, scheduling), ": ")
		}
	}
	return out
}
