// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// lingering is a pod that is evicted and has not terminated.
type lingering struct {
	placedPod

	// holds is set where it keeps its room: on nodes that take pods again.
	holds bool
}

// findRefills finds the nodes that pods leave and that take pods to place all the same: these tolerate the new taint, or
// get their tolerations from an admission policy. What terminates there is in the way of what comes.
func (s *simulation) findRefills() {
	type key struct {
		first *corev1.Toleration
		n     int
	}
	// Most classes have the tolerations of others, and taints refuse most: to ask every node for every class would cost more
	// than several orders.
	alike := map[key][]*class{}
	for _, c := range s.classes {
		k := key{n: len(c.scheduling.Tolerations)}
		if k.n > 0 {
			k.first = &c.scheduling.Tolerations[0]
		}
		if c.forbidden == nil {
			alike[k] = append(alike[k], c)
		}
	}
	refills := func(i int) bool {
		p := s.places[i]
		for _, classes := range alike {
			one := classes[0].scheduling
			if UntoleratedTaint(one.Tolerations, p.after, s.comparison) == nil && !s.cordons(p, one) &&
				slices.ContainsFunc(classes, func(c *class) bool { return s.static(c.search, int32(i)) }) { //nolint:gosec // A cluster has no two thousand million nodes.
				return true
			}
		}
		return false
	}
	for i, leaves := range s.leaves {
		if leaves && refills(i) {
			if s.refills == nil {
				s.refills = make([]bool, len(s.places))
			}
			s.refills[i] = true
		}
	}
}

// linger lets the pods that are gone at the first moment count for others.
func (s *simulation) linger() {
	if s.lingers {
		s.eachLeaving(0, s.stay)
	}
}

// stay lets a pod that is gone by now count for others until it has terminated: replacements follow it, or keep apart from it, on
// its node, and find its room taken if the node takes them again. Whether it has terminated by the time they are placed is a
// matter of chance.
func (s *simulation) stay(i int32, pod *snapshot.Pod) {
	l := lingering{placedPod{i, pod}, s.refills != nil && s.refills[i] && !s.replacedOnceGone(pod)}
	if o := l.occupant(); l.holds {
		s.add(i, o)
	} else {
		s.rules.update(s, i, o, 1)
	}
	s.lingering = append(s.lingering, l)
	s.freed++
	s.moved++
}

func (l *lingering) occupant() occupant { return occupant{pod: l.pod, leaving: true} }

// replacedOnceGone reports whether a pod is gone by now in this order, since its controller waits for that and creates another one
// now.
func (s *simulation) replacedOnceGone(pod *snapshot.Pod) bool {
	r := s.replacing[pod]
	return r != nil && r.wait > 0 && r.after <= r.evicted
}

// terminateLingering has all of them terminated.
func (s *simulation) terminateLingering() {
	for _, l := range s.lingering {
		switch {
		case s.isPreempted[l.pod]:
		case l.holds:
			s.remove(l.node, l.occupant())
		default:
			s.rules.update(s, l.node, l.occupant(), -1)
		}
	}
	s.lingering = s.lingering[:0]
	s.freed++
	s.moved++
}

// placeBeforeEvictions places pods that were Pending before while those that are evicted at the first moment still count for
// them: nodes whose taints count are no domains of topology spread from the moment on at which these are written, which may
// be what a Pending pod has waited for.
func (s *simulation) placeBeforeEvictions() {
	s.early = true
	s.countEarly(1)
	s.createDue(func(*replacement) bool { return true })
	s.pass()
	s.countEarly(-1)
	s.early = false
}

// countEarly counts the pods that are evicted at the first moment, or takes that back.
func (s *simulation) countEarly(n int64) {
	s.eachLeaving(0, func(i int32, pod *snapshot.Pod) { s.rules.update(s, i, occupant{pod: pod}, n) })
	s.freed++
	s.moved++
}

// eachLeaving calls do with the pods that are gone at a moment and were not before.
func (s *simulation) eachLeaving(moment int64, do func(i int32, pod *snapshot.Pod)) {
	for i, leaves := range s.leaves {
		if !leaves {
			continue
		}
		for _, pod := range s.snapshot.Pods[s.places[i].node.Name] {
			if after, goes := s.evicted[pod]; goes && after == moment && !pod.Completed && !s.isPreempted[pod] {
				do(int32(i), pod)
			}
		}
	}
}

// vacate removes the pods of a node that are gone at a moment and were not before.
func (s *simulation) vacate(i int32, moment int64) {
	for _, pod := range s.snapshot.Pods[s.places[i].node.Name] {
		if after, goes := s.evicted[pod]; goes && after == moment && !pod.Completed && !s.isPreempted[pod] {
			s.remove(i, occupant{pod: pod})
			s.quotas.release(s, pod)
			s.returnStorageOf(pod)
			if s.lingers {
				s.stay(i, pod)
			}
		}
	}
}
