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
	occupant

	node int32
	// holds is set where it keeps its room.
	holds bool
	// attached are the volumes that a pod has left behind which is gone itself, nil for a pod that is there.
	attached *attached
}

// findRefills finds the nodes from which pods are evicted and that take pods to place all the same: these tolerate the new taint, or
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
		evicts := func(p *snapshot.Pod) bool { _, evicted := s.evicted[p]; return evicted && s.lingersAt(p) }
		if leaves && slices.ContainsFunc(s.snapshot.Pods[s.places[i].node.Name], evicts) && refills(i) {
			if s.refills == nil {
				s.refills = make([]bool, len(s.places))
			}
			s.refills[i] = true
		}
	}
}

// refillsNow reports whether there are such nodes that pods are evicted from at the first moment. Until these have terminated, other
// pods may be placed elsewhere, or preempt some.
func (s *simulation) refillsNow() (some bool) {
	if s.refills != nil {
		s.eachLeaving(0, func(i int32, pod *snapshot.Pod) { some = some || s.refills[i] && s.lingersAt(pod) })
	}
	return some
}

// lingersAt reports whether a pod is still there at the moment of its eviction. One that is terminating already is evicted by no
// change: it is gone at its moment.
func (s *simulation) lingersAt(pod *snapshot.Pod) bool {
	return !pod.Terminating && !pod.Completed && !s.ended[pod]
}

// mayLinger reports whether pods that are terminating matter to others.
func (s *simulation) mayLinger() bool { return s.rules.relate() || s.attracted || s.refills != nil }

// linger lets the pods that are gone at the first moment count for others, in half of the orders.
func (s *simulation) linger(order int) {
	s.lingers = order%4 >= 2 && s.mayLinger()
	s.detaches = s.lingers && order/4%2 == 1 && len(s.attachments.uses) > 0
	if s.lingers {
		s.eachLeaving(0, s.stay)
	}
}

// stay lets a pod that is gone by now count for others until it has terminated: replacements follow it, or keep apart from it, on
// its node, and find its room taken if the node takes them again. Whether it has terminated by the time they are placed is a
// matter of chance.
func (s *simulation) stay(i int32, pod *snapshot.Pod) {
	switch {
	case pod.Terminating:
	case s.detaches:
		s.leaveAttached(i, pod)
	case !s.replacedOnceGone(pod):
		s.keep(lingering{occupant: occupant{pod: pod}, node: i, holds: s.refills != nil && s.refills[i] && s.lingersAt(pod)})
	}
}

// stayVictim does so for a victim of preemption, which keeps its room in any case: others that are queued find it taken. What
// preempts more than one pod on that node evicts it again.
func (s *simulation) stayVictim(i int32, v occupant) {
	if v.victim = true; s.lags {
		s.keep(lingering{occupant: v, node: i, holds: true})
	}
}

func (s *simulation) keep(l lingering) {
	if l.leaving = true; l.holds {
		s.add(l.node, l.occupant)
	} else {
		s.rules.update(s, l.node, l.occupant, 1)
		s.moved++
	}
	s.lingering = append(s.lingering, l)
	s.freed++
}

// replacedOnceGone reports whether a pod that was just evicted is gone by now in this order, since its controller waits for that and
// creates another one now.
func (s *simulation) replacedOnceGone(pod *snapshot.Pod) bool {
	r := s.replacing[pod]
	if last := len(s.replacements) - 1; r == nil && last >= s.fixed && s.replacements[last].pod == pod {
		r = s.replacements[last]
	}
	return r != nil && r.after <= r.evicted && s.waitsUntilGone(pod)
}

// waitsUntilGone reports whether a controller replaces a pod once it is gone, and not when it begins to terminate.
func (s *simulation) waitsUntilGone(pod *snapshot.Pod) bool {
	c := pod.Controller
	return c != nil && (c.StatefulSet() || c.Job() || s.snapshot.RunsOnEveryNode(pod))
}

// terminated has all lingering pods terminated, or the victims among them. It reports whether there were any. One that
// was evicted again holds its room no more.
func (s *simulation) terminated(which func(*lingering) bool) (some bool) {
	s.lingering = slices.DeleteFunc(s.lingering, func(l lingering) bool {
		if !which(&l) {
			return false
		}
		some = true
		switch {
		case l.attached != nil:
			s.change(l.node).attach(s.places[l.node].limits, l.attached, -1)
		case !l.holds:
			s.rules.update(s, l.node, l.occupant, -1)
		case slices.Contains(s.state(l.node).placed, l.occupant):
			s.remove(l.node, l.occupant)
		}
		return true
	})
	if some {
		s.freed++
		s.moved++
	}
	return some
}

func lingeringVictims(l *lingering) bool { return l.victim }

func allLingering(*lingering) bool { return true }

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

// countEarly counts the pods that are evicted at the first moment, with their room where others may want it, or takes that back.
func (s *simulation) countEarly(n int64) {
	s.eachLeaving(0, func(i int32, pod *snapshot.Pod) {
		switch o := (occupant{pod: pod}); {
		case s.refills == nil || !s.refills[i]:
			s.rules.update(s, i, o, n)
		case n > 0:
			s.add(i, o)
		default:
			s.remove(i, o)
		}
	})
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

// vacate removes a pod that is gone at a moment and was not before.
func (s *simulation) vacate(i int32, pod *snapshot.Pod) {
	s.remove(i, occupant{pod: pod})
	s.quotas.release(s, pod)
	s.returnStorageOf(pod)
	if s.lingers {
		s.stay(i, pod)
	}
}
