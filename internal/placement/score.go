// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// maxScore is the highest score that one plug-in gives a node.
const maxScore = 100

// taintWeight and affinityWeight are those of TaintToleration and NodeAffinity. The scores of resources weigh 1
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/apis/config/v1/default_plugins.go).
const taintWeight, affinityWeight = 3, 2

// rated is a node that takes a pod.
type rated struct {
	node, untolerated, preferred int32
	// crowded is what PodTopologySpread scores it by, attracts what InterPodAffinity does, and score the sum of the scores.
	crowded, attracts, score int64
}

// rate returns what a node is chosen by: how much of it is free, in some orders how much storage is left, how many of its
// PreferNoSchedule taints the pod does not tolerate, and how much the pod prefers it by its node affinity. How a pod balances the
// use of its resources, and what it prefers of other pods, bestOf adds. Of the scheduler's other scores none is repeated.
func (s *simulation) rate(c *class, i int32) rated {
	n := s.state(i)
	one := rated{node: i, preferred: s.preferred(c.search, i), score: n.free(c.demand)}
	if c.search.open != nil {
		one.score += s.storageScore(c, i)
	}
	if n.soft {
		one.untolerated = s.untolerated(c.search, i)
	}
	return one
}

// bestOf returns the nodes with the highest score of those that take a pod. The untolerated
// taints of each count by the most that one of them has, and its preferred terms likewise. To weigh the balance costs as much as
// all else: nodes that no balance makes the best are left out.
func (s *simulation) bestOf(r *replacement, takers []rated) []int32 {
	s.sum(r.prefers, takers)
	first := slices.MaxFunc(takers, func(a, b rated) int { return cmp.Compare(a.score, b.score) })
	highest := first.score + s.state(first.node).balancing(r.class.demand)
	s.best = s.best[:0]
	for i := range takers {
		n, score := s.state(takers[i].node), takers[i].score
		if score+n.mostBalancing() < highest {
			continue
		}
		if score += n.balancing(r.class.demand); score > highest {
			highest, s.best = score, s.best[:0]
		}
		if score == highest {
			s.best = append(s.best, takers[i].node)
		}
	}
	return s.best
}

// sum adds the scores that depend on the other nodes.
func (s *simulation) sum(p *podPreferences, takers []rated) {
	s.rateByPods(p, takers)
	taints, weights := int32(0), int32(0)
	crowded, attracts := span{math.MaxInt64, 0}, span{math.MaxInt64, math.MinInt64}
	for i := range takers {
		one := &takers[i]
		taints, weights = max(taints, one.untolerated), max(weights, one.preferred)
		if attracts.add(one.attracts); one.crowded != unspread {
			crowded.add(one.crowded)
		}
	}
	for i := range takers {
		one := &takers[i]
		one.score += taintWeight*taintScore(one.untolerated, taints) + affinityWeight*affinityScore(one.preferred, weights) +
			spreadWeight*spreadScore(one.crowded, crowded.least, crowded.most) + podAffinityWeight*podAffinityScore(one.attracts, attracts.least, attracts.most)
	}
}

// span is the least and the most of some numbers.
type span struct{ least, most int64 }

func (s *span) add(n int64) { s.least, s.most = min(s.least, n), max(s.most, n) }

// taintScore is higher the fewer taints of a node a pod does not tolerate, if one of the nodes has most of them
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/helper/normalize_score.go).
func taintScore(untolerated, most int32) int64 {
	if most == 0 {
		return maxScore
	}
	return maxScore - maxScore*int64(untolerated)/int64(most)
}

// untolerated counts the PreferNoSchedule taints of a node that pods of a search do not tolerate
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/tainttoleration/taint_toleration.go,
// countIntolerableTaintsPreferNoSchedule).
func (s *simulation) untolerated(l *nodeSearch, i int32) int32 {
	if l.untolerated == nil {
		l.untolerated = make([]uint8, len(s.places))
	}
	// 0 is for a node that has not been counted.
	if l.untolerated[i] == 0 {
		l.untolerated[i] = 1
		soft := s.places[i].meanwhile().soft
		for k := range soft[:min(len(soft), math.MaxUint8-1)] {
			if taint.FirstMatch(l.tolerations, soft[k], s.comparison) < 0 {
				l.untolerated[i]++
			}
		}
	}
	return int32(l.untolerated[i]) - 1
}

// free returns the score of NodeResourcesFit.
func (n *nodeState) free(d *snapshot.Demand) int64 {
	if n.has == nil {
		return 0
	}
	return leastAllocated([2]int64{n.scoredCPU + d.ScoredMilliCPU, n.scoredMemory + d.ScoredMemory}, [2]int64{n.has.MilliCPU, n.has.Memory})
}

// balancing returns the score of NodeResourcesBalancedAllocation, which leaves pods out that request nothing.
func (n *nodeState) balancing(d *snapshot.Demand) int64 {
	if n.has == nil || d.Asks.MilliCPU == 0 && d.Asks.Memory == 0 {
		return 0
	}
	with := balance([2]int64{n.milliCPU + d.Asks.MilliCPU, n.memory + d.Asks.Memory}, [2]int64{n.has.MilliCPU, n.has.Memory})
	return balancedAllocation(n.balanced, with)
}

// mostBalancing returns the highest that balancing returns of any pod.
func (n *nodeState) mostBalancing() int64 { return balancedAllocation(n.balanced, maxScore) }

// leastAllocated is higher the more of CPU and memory is left
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/noderesources/least_allocated.go).
func leastAllocated(requested, all [2]int64) int64 {
	var sum, weights int64
	for k := range all {
		if all[k] == 0 {
			continue
		}
		weights++
		if requested[k] <= all[k] {
			sum += (all[k] - requested[k]) * maxScore / all[k]
		}
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// balancedAllocation is higher the more a pod balances the use of CPU and memory
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go).
func balancedAllocation(without, with int64) int64 {
	return maxScore/2 + (maxScore/2+with-without)/2
}

func balance(used, all [2]int64) int64 {
	if all[0] == 0 || all[1] == 0 {
		return maxScore
	}
	deviation := math.Abs(min(float64(used[0])/float64(all[0]), 1)-min(float64(used[1])/float64(all[1]), 1)) / 2
	return int64((1 - deviation) * maxScore)
}

// softTaints returns those of a node's taints with the effect PreferNoSchedule, nil where it has none.
func softTaints(taints []corev1.Taint) (soft []corev1.Taint) {
	for i := range taints {
		if taints[i].Effect == corev1.TaintEffectPreferNoSchedule {
			soft = append(soft, taints[i])
		}
	}
	return soft
}
