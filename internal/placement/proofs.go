// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// prove counts, by workload, the replacements that stay Pending whatever the order: those beyond
// what all nodes that take pods of their kind can hold, if no other pod came (the pigeonhole bound).
// Of one that fits nowhere even alone it is the case of no room at all. Pods of a priority below
// that of any pod that can preempt them may be gone: also those that the kind itself may not preempt.
// Replacements that admission may refuse are left out: they are not created. So are those of Jobs that fail by preemption
// in some order, and those of pods that may have been resized: they may ask for less.
func (s *simulation) prove() {
	if s.stages.comes != nil {
		return // Nodes that come, and those that are drained later, hold pods as well.
	}
	type kind struct {
		resultKey
		rules *snapshot.PodRules
	}
	kinds := map[kind][]*replacement{}
	for _, r := range s.replacements[:s.fixed] {
		if s.provable(r) {
			key := kind{resultKey{r.class.search, r.class.demand}, r.pod.Rules}
			kinds[key] = append(kinds[key], r)
		}
	}
	for _, list := range kinds {
		c, byWorkload := list[0].class, map[int]int{}
		for _, r := range list {
			byWorkload[r.workload]++
		}
		holds := s.capacity(c, len(list))
		for w, n := range byWorkload {
			// Pods of other workloads may be those that find no place.
			s.workloads[w].Proved += max(n-holds, 0)
		}
	}
}

// provable reports whether what nodes can hold bounds how many pods like this one run.
func (s *simulation) provable(r *replacement) bool {
	return !r.waiting && !r.undecided && !r.successor && !r.elsewhere && r.set == nil && r.class.forbidden == nil && r.class.named == nil && !r.class.demand.Resized && s.failures.lost[r.pod] == 0 && !s.limited(r.pod)
}

// mostPreempting returns the highest priority of a pod that may preempt others.
func (s *simulation) mostPreempting() int32 {
	most := int32(math.MinInt32)
	for _, r := range s.replacements[:s.fixed] {
		if d := r.class.demand; !d.Patient {
			most = max(most, d.Priority)
		}
	}
	return most
}

// capacity returns how many pods of a class all nodes can hold, most at the most.
func (s *simulation) capacity(c *class, most int) int {
	sum := 0
	for k := 0; sum < most; k++ {
		p := s.taker(c.search, k)
		if p == nil {
			break
		}
		sum += int(min(s.holds(p, c), int64(most)))
	}
	return min(sum, most)
}

// holds returns how many pods of a class a node can hold.
func (s *simulation) holds(p *place, c *class) int64 {
	if p.has == nil {
		return math.MaxInt32
	}
	d := c.demand
	respected := max(respects(d), s.preempting)
	r := s.room(p, respected)
	n := max(r.pods, 0)
	for _, one := range [][2]int64{{d.Asks.MilliCPU, r.milliCPU}, {d.Asks.Memory, r.memory}, {d.Asks.EphemeralStorage, r.ephemeral}} {
		if one[0] > 0 {
			n = min(n, max(one[1], 0)/one[0])
		}
	}
	for i := range d.Asks.Others {
		n = min(n, max(s.free(p, respected, d.Asks.Others[i].Name), 0)/max(d.Asks.Others[i].Value, 1))
	}
	if c.needs.excludes() {
		n = min(n, 1)
	}
	return n
}
