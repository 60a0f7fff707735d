// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"
)

// turns has the workloads that a ResourceQuota leaves too little for at some moment, if only until evicted pods have
// terminated. A controller that a quota refuses a pod waits, longer
// each time, while that of another workload creates one pod after the other
// (k8s.io/client-go v0.37.2 util/workqueue/default_rate_limiters.go, DefaultTypedControllerRateLimiter): in some orders
// each workload creates all of its pods before the next one creates any.
type turns struct {
	// short has the numbers of the workloads, held is set for one whose turn has not come at this moment.
	short []int
	held  map[int]bool
}

// newTurns finds the workloads of which a quota refuses some pods at some moment, if overdue pods stay.
func newTurns(s *simulation) turns {
	t := turns{held: map[int]bool{}}
	if len(s.quotas.limits) == 0 {
		return t
	}
	var charged []*replacement
	charges := map[*replacement]*charge{}
	for _, r := range s.replacements {
		if c := s.quotas.of(s, r.pod); c != nil && !r.waiting {
			charged, charges[r] = append(charged, r), c
		}
	}
	left, asked := slices.Clone(s.quotas.unreleased), make([]int64, len(s.quotas.base))
	ask := func(moment int64, which func(*replacement) bool) {
		for _, r := range charged {
			if r.after == moment && which(r) {
				charges[r].add(asked)
			}
		}
		for _, r := range charged {
			if r.after <= moment && which(r) && charges[r].exceeds(asked, left) && !slices.Contains(t.short, r.workload) {
				t.short = append(t.short, r.workload)
			}
		}
	}
	for _, moment := range s.moments {
		ask(moment, func(r *replacement) bool { return !s.waitsUntilGone(r.pod) })
		s.creditLeaving(moment, left)
		ask(moment, func(r *replacement) bool { return s.waitsUntilGone(r.pod) })
	}
	return t
}

// creditLeaving adds to what is left what pods use that are gone at a moment, but not what overdue ones do.
func (s *simulation) creditLeaving(moment int64, left []int64) {
	for pod, after := range s.evicted {
		if after == moment && !slices.Contains(s.overdue, pod) {
			s.quotas.credit(s, pod, left)
		}
	}
}

// add adds what a new pod uses.
func (c *charge) add(asked []int64) {
	for i, at := range c.limits {
		asked[at] += c.asks[i]
	}
}

// exceeds reports whether more is asked of one of the pod's limits than is left.
func (c *charge) exceeds(asked, left []int64) bool {
	for i, at := range c.limits {
		if c.asks[i] > 0 && left[at] < asked[at] {
			return true
		}
	}
	return false
}

// holdTurns has them create no pods before their turns come at this moment.
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
