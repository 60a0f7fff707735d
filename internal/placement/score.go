// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "math"

// maxScore is the highest score that one plug-in gives a node.
const maxScore = 100

// score is what a node is chosen by: how much of it is free, and how a pod balances the use of
// its resources, with the same weight. Of the scheduler's other scores none is repeated. A score that is lower than
// least is any number below it: to weigh the balance costs as much as all else.
func (s *simulation) score(c *class, i int32, least int64) int64 {
	free, balanced := s.scores(c, i, least)
	return free + balanced
}

// scores returns the score of NodeResourcesFit and that of NodeResourcesBalancedAllocation, which
// leaves pods out that request nothing, and nodes whose sum is below the least.
func (s *simulation) scores(c *class, i int32, least int64) (free, balanced int64) {
	has := s.places[i].has
	if has == nil {
		return 0, 0
	}
	n, d := s.state(i), c.demand
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
