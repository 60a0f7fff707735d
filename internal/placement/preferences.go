// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// preferences are the preferred node affinity of the pods of a search.
type preferences struct {
	terms *nodeaffinity.PreferredSchedulingTerms
	// most is the weight of a node that matches all terms.
	most int32
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
		p = &preferences{weights: make([]int32, len(s.places))}
		// The API server accepts no terms that cannot be parsed.
		p.terms, _ = nodeaffinity.NewPreferredSchedulingTerms(l.preferred)
		for k := range l.preferred {
			p.most += l.preferred[k].Weight
		}
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

// preferring returns the pods to place that prefer nodes by the pods that run there, where that may change the outcome.
// No order follows such preferences, and those that choose any node come to the same by chance alone. They change
// nothing where it is proved what each order comes to. They are not named where each order that was tried comes to no
// more than what is proved, or for pods that one node alone takes.
func (s *simulation) preferring(out *Outcome) (pods []*snapshot.Pod) {
	if s.proved || out.Others.Missing.Max == 0 && !slices.ContainsFunc(s.workloads, (*tally).open) {
		return nil
	}
	note := func(pod *snapshot.Pod, l *nodeSearch) {
		if (pod.PrefersPods || pod.PrefersSpread) && s.taker(l, 1) != nil {
			pods = append(pods, pod)
		}
	}
	for _, r := range s.replacements[:s.fixed] {
		if r.class.forbidden == nil {
			note(r.pod, r.class.search)
		}
	}
	for _, v := range out.Victims {
		if e := s.victim(v.Pod); e.Scheduling != nil {
			note(v.Pod, s.search(v.Pod, e.Scheduling))
		}
	}
	return pods
}

// open reports whether more of a workload's pods are missing in any order than is proved, or are placed later, are preempted
// or are evicted again.
func (w *tally) open() bool {
	return w.Unplaced.Max > w.Proved || w.Delayed.Max+w.Preempted.Max+w.Again.Max > 0
}
