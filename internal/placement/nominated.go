// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"
)

// keepNominations puts Pending pods on the nodes for which the scheduler has nominated them, where these still take them
// once pods of a lower priority have terminated: their room is kept, also from pods of the same priority, and
// they preempt no more while they wait for it
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods, and
// pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go, PodEligibleToPreemptOthers). A pod that
// fits elsewhere in the meantime goes there, which no API tells beforehand.
func (s *simulation) keepNominations() {
	for _, r := range s.nominated {
		s.keepNomination(r)
	}
}

// keepNomination reports whether a pod has the node for which it has been nominated before.
func (s *simulation) keepNomination(r *replacement) bool {
	p, there := s.byName[r.pod.Nominated]
	if !there || !r.waiting || !s.keepsRoom(r.class, int32(p.index)) { //nolint:gosec // A cluster has no two thousand million nodes.
		return false
	}
	r.created = true
	if s.nominates {
		s.nominate(r, int32(p.index)) //nolint:gosec // As above.
	} else {
		s.bind(r, int32(p.index)) //nolint:gosec // As above.
	}
	return true
}

// sortNominated collects the pods with a nominated node, the highest priority first.
func (s *simulation) sortNominated() {
	for _, r := range s.replacements {
		if r.waiting && !r.foreign() && r.pod.Nominated != "" && r.class.forbidden == nil {
			s.nominated = append(s.nominated, r)
		}
	}
	slices.SortStableFunc(s.nominated, func(a, b *replacement) int {
		return cmp.Or(cmp.Compare(b.class.demand.Priority, a.class.demand.Priority), a.pod.Compare(b.pod))
	})
}

// keepsRoom reports whether a node takes pods of a class once those of a lower priority are gone that are
// terminating.
func (s *simulation) keepsRoom(c *class, i int32) bool {
	if !s.static(c.search, i) || !s.stages.open(c.search, i, s.moment) {
		return false
	}
	terminating := slices.DeleteFunc(s.occupants(i, nil), func(o occupant) bool {
		d, _ := o.demand()
		return !o.leaving && (!o.pod.Terminating || o.replacement != nil) || d.Priority >= c.demand.Priority
	})
	before, t := s.failure(), s.trial(c, i)
	for _, o := range terminating {
		t.take(o)
	}
	fits := t.fits()
	if t.alone == nil {
		for _, o := range terminating {
			s.add(i, o)
		}
	}
	s.freed, s.moved = before.freed, before.moved
	return fits
}
