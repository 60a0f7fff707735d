// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// nodePreferences are the preferred node affinity of the pods of a search.
type nodePreferences struct {
	terms *nodeaffinity.PreferredSchedulingTerms
	// weights remembers, by node, the weight of the terms that it matches, and 1 more.
	weights []int32
}

// preferred returns the weight of the preferred terms that a node matches
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/nodeaffinity/node_affinity.go, Score).
func (s *simulation) preferred(l *nodeSearch, i int32) int32 {
	if len(l.preferred) == 0 {
		return 0
	}
	p := l.preferences
	if p == nil {
		p = &nodePreferences{weights: make([]int32, len(s.places))}
		// The API server accepts no terms that cannot be parsed.
		p.terms, _ = nodeaffinity.NewPreferredSchedulingTerms(l.preferred)
		l.preferences = p
	}
	// 0 is for a node that has not been looked at.
	if p.weights[i] == 0 {
		p.weights[i] = 1
		if n := s.places[i].node; p.terms != nil {
			s.scratch.Name, s.scratch.Labels = n.Name, n.Labels
			p.weights[i] += int32(p.terms.Score(&s.scratch)) //nolint:gosec // Weights are 100 at most.
		}
	}
	return p.weights[i] - 1
}

// affinityScore is higher the more a node is preferred, if one of the nodes has the most weight
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/helper/normalize_score.go).
func affinityScore(weight, most int32) int64 {
	if most == 0 {
		return 0
	}
	return maxScore * int64(weight) / int64(most)
}
