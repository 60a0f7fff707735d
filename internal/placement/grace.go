// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "slices"

// wait is how long the controller of an evicted pod waits in this many seconds before it creates another one, rounded up:
// pods may end before their grace periods do, so that exact seconds tell nothing, and each moment costs a simulation
// as much as the first one. Even in one second a Deployment has its new pods placed.
func (e *Eviction) wait() int64 {
	if e.Wait <= 0 || e.successor() {
		return 0
	}
	if e.Wait == 1 {
		return 1
	}
	out := int64(terminatingGone)
	for out < e.Wait && out < longestWait {
		out *= 2
	}
	return out
}

// longestWait is some ten years: no grace period is longer.
const longestWait = terminatingGone << 23

// paces are when pods that controllers wait for are gone: all of them when their grace periods end, all immediately, or those of
// each workload by chance.
const (
	allLate = iota
	noneLate
	someLate
	paces
)

// delay plans when the replacements are created whose controllers wait until the evicted pod is gone. In one of three orders
// that is when its grace period ends. In the second the pod is gone immediately: most pods end as soon as they are told to. In the
// third workloads differ, as each has its own habits.
func (s *simulation) delay(order int) {
	s.pace, s.ahead = order/2%paces, slices.Clone(s.moments)
	for _, moment := range s.stages.moments {
		s.planMoment(moment)
	}
	for _, r := range s.replacements {
		if r.wait > 0 && !r.undecided {
			s.due(r, r.evicted)
		}
	}
}

// due plans when a replacement is created whose pod is evicted at a moment.
func (s *simulation) due(r *replacement, evicted int64) {
	r.evicted, r.after = evicted, evicted
	if r.wait == 0 || !s.late(r) || evicted >= kept-r.wait {
		return
	}
	r.after += r.wait
	s.planMoment(r.after)
}

// planMoment adds a moment to those that are ahead.
func (s *simulation) planMoment(moment int64) {
	if at, known := slices.BinarySearch(s.ahead, moment); !known {
		s.ahead = slices.Insert(s.ahead, at, moment)
	}
}

// late reports whether an evicted pod takes its grace period in this order.
func (s *simulation) late(r *replacement) bool {
	if s.pace != someLate {
		return s.pace == allLate
	}
	return s.chance.of(ofGraces, nameOf(r.pod.Namespace, s.snapshot.Owner(r.pod).String())).below(2) == 0
}
