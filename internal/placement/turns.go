// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"
)

// turns are of the workloads that ResourceQuotas leave too little for. A controller that a quota refuses a pod waits, longer
// each time, while that of another workload creates one pod after the other
// (k8s.io/client-go v0.37.2 util/workqueue/default_rate_limiters.go, DefaultTypedControllerRateLimiter): in some orders
// each of them creates all of its pods before the next one creates any.
type turns struct {
	// short are the workloads, held is set for those of them whose turn has not come at this moment.
	short []int
	held  map[int]bool
}

// newTurns finds the workloads of which a quota refuses some pods once all that are evicted are gone.
func newTurns(s *simulation) turns {
	left := slices.Clone(s.quotas.left)
	for pod, after := range s.evicted {
		if c := s.quotas.of(s, pod); c != nil && after > 0 && after < kept {
			for i, at := range c.limits {
				left[at] += c.holds[i]
			}
		}
	}
	charges := make([]*charge, len(s.replacements))
	for i, r := range s.replacements {
		if r.waiting {
			continue
		}
		if charges[i] = s.quotas.of(s, r.pod); charges[i] != nil {
			for k, at := range charges[i].limits {
				left[at] -= charges[i].asks[k]
			}
		}
	}
	t := turns{held: map[int]bool{}}
	for i, r := range s.replacements {
		if c := charges[i]; c != nil && !slices.Contains(t.short, r.workload) && slices.ContainsFunc(c.limits, func(at int) bool { return left[at] < 0 }) {
			t.short = append(t.short, r.workload)
		}
	}
	return t
}

// holdTurns has these workloads create no pods before their turns come at this moment.
func (s *simulation) holdTurns() {
	for _, w := range s.turns.short {
		s.turns.held[w] = s.takesTurns
	}
}

// takeTurns has them create their pods, one workload after the other.
func (s *simulation) takeTurns() {
	if !s.takesTurns {
		return
	}
	draw := func(w int) chance {
		return s.chance.of(ofTurns, nameOf(s.workloads[w].Namespace, s.workloads[w].String()))
	}
	for _, w := range slices.SortedFunc(slices.Values(s.turns.short), func(a, b int) int { return cmp.Compare(draw(a), draw(b)) }) {
		s.turns.held[w] = false
		s.createDue(func(r *replacement) bool { return r.workload == w })
		s.pass()
	}
}
