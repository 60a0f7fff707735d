// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"

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
	score                        int64
}

// rate returns what a node is chosen by: how much of it is free, how a pod balances the use of its
// resources, how many of its PreferNoSchedule taints the pod does not tolerate, and how much the pod prefers it by
// its node affinity, and in some orders how much storage is left. Of the scheduler's other scores none is repeated. Least is the score of another node that leads:
// one that is lower is any number below it, since to weigh the balance costs as much as all else.
func (s *simulation) rate(c *class, i int32, least int64) rated {
	n, storage := s.state(i), int64(0)
	if c.search.open != nil {
		least, storage = -1, s.storageScore(c, i)
	}
	free, balanced := n.scores(c.demand, least)
	one := rated{node: i, preferred: s.preferred(c.search, i), score: free + balanced + storage}
	if n.soft {
		one.untolerated = s.untolerated(c.search, i)
	}
	return one
}

// leads reports whether no node of a lower score by resources is better: pods tolerate all of its soft taints, and
// prefer no node more.
func (l *nodeSearch) leads(one *rated) bool {
	return one.untolerated == 0 && (l.preferences == nil || one.preferred == l.preferences.most)
}

// bestOf returns the nodes with the highest score of those that take a pod. The untolerated
// taints of each count by the most that one of them has, and its preferred terms likewise.
func (s *simulation) bestOf(takers []rated) []int32 {
	highest, taints, weights := int64(-1), int32(0), int32(0)
	for i := range takers {
		taints, weights = max(taints, takers[i].untolerated), max(weights, takers[i].preferred)
	}
	s.best = s.best[:0]
	for i := range takers {
		score := takers[i].score + taintWeight*taintScore(takers[i].untolerated, taints) + affinityWeight*affinityScore(takers[i].preferred, weights)
		if score > highest {
			highest, s.best = score, s.best[:0]
		}
		if score == highest {
			s.best = append(s.best, takers[i].node)
		}
	}
	return s.best
}

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
		soft := s.places[i].soft
		for k := range soft[:min(len(soft), math.MaxUint8-1)] {
			if taint.FirstMatch(l.tolerations, soft[k], s.comparison) < 0 {
				l.untolerated[i]++
			}
		}
	}
	return int32(l.untolerated[i]) - 1
}

// scores returns the score of NodeResourcesFit and that of NodeResourcesBalancedAllocation, which
// leaves pods out that request nothing, and nodes whose sum is below the least.
func (n *nodeState) scores(d *snapshot.Demand, least int64) (free, balanced int64) {
	has := n.has
	if has == nil {
		return 0, 0
	}
	free = leastAllocated([2]int64{n.scoredCPU + d.ScoredMilliCPU, n.scoredMemory + d.ScoredMemory}, [2]int64{has.MilliCPU, has.Memory})
	if d.Asks.MilliCPU == 0 && d.Asks.Memory == 0 || free+balancedAllocation(n.balanced, maxScore) < least {
		return free, 0
	}
	with := balance([2]int64{n.milliCPU + d.Asks.MilliCPU, n.memory + d.Asks.Memory}, [2]int64{has.MilliCPU, has.Memory})
	return free, balancedAllocation(n.balanced, with)
}

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
