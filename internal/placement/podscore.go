// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "math"

// spreadWeight and podAffinityWeight are those of PodTopologySpread and InterPodAffinity
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/apis/config/v1/default_plugins.go).
const spreadWeight, podAffinityWeight = 2, 2

// attractionWork is to how many attractions the work of asking a node comes.
const attractionWork = 4

// unspread marks a node that lacks a label of a constraint.
const unspread = -1

// rateByPods rates nodes by the pods that run there.
func (s *simulation) rateByPods(p *podPreferences, takers []rated) {
	if len(p.spread) > 0 {
		s.rateSpread(p, takers)
	}
	s.work += len(p.attractions) * len(takers) / attractionWork
	for _, a := range p.attractions {
		for i := range takers {
			if n, in := a.on(takers[i].node); in {
				takers[i].attracts += int64(n) * a.weight
			}
		}
	}
}

// rateSpread gives each node that takes a pod what PodTopologySpread scores it by: more for more pods of its domains. Where domains
// are many, each of their pods counts for more
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, PreScore and Score).
func (s *simulation) rateSpread(p *podPreferences, takers []rated) {
	nodes, lacking := max(len(takers), s.scored), 0
	for i := range takers {
		if p.labelled && p.lacksLabel(takers[i].node) {
			takers[i].crowded = unspread
			lacking++
		}
	}
	nodes -= lacking * nodes / max(len(takers), 1)
	s.weights = s.weights[:0]
	for _, c := range p.spread {
		s.weights = append(s.weights, math.Log(float64(s.domainsOf(c, takers, nodes)+2)))
	}
	for i := range takers {
		if takers[i].crowded == unspread {
			continue
		}
		score := 0.0
		for k, c := range p.spread {
			if n, in := c.on(takers[i].node); in {
				score += float64(n)*s.weights[k] + float64(c.skew-1)
			}
		}
		takers[i].crowded = int64(math.Round(score))
	}
}

// lacksLabel reports whether a node is in no domain of a constraint.
func (p *podPreferences) lacksLabel(i int32) bool {
	for _, c := range p.spread {
		if _, in := c.on(i); !in {
			return true
		}
	}
	return false
}

// domainsOf counts the domains of nodes, given how many of the nodes are spread at all. Those of them without the label are in one
// as well.
func (s *simulation) domainsOf(c softConstraint, takers []rated, spread int) (n int) {
	if c.onNodes {
		return spread
	}
	s.seen = append(s.seen[:0], make([]bool, c.domains+1)...)
	for i := range takers {
		if seen := &s.seen[c.of[takers[i].node]+1]; !*seen && takers[i].crowded != unspread {
			*seen = true
			n++
		}
	}
	return n
}

// spreadScore is higher the less crowded a node is, as of those that are so least and most (scoring.go, NormalizeScore).
func spreadScore(crowded, least, most int64) int64 {
	switch {
	case crowded == unspread:
		return 0
	case most == 0:
		return maxScore
	default:
		return maxScore * (most + least - crowded) / most
	}
}

// podAffinityScore is higher the more a node attracts a pod, as of those that do so least and most
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/interpodaffinity/scoring.go, NormalizeScore).
func podAffinityScore(attracts, least, most int64) int64 {
	if most == least {
		return 0
	}
	return int64(maxScore * (float64(attracts-least) / float64(most-least)))
}
