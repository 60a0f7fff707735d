// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// baseline is the simulation without the change: of pods that are Pending, or replace terminating ones, or those that
// other changes of the run evict. What
// they do in it as well is not caused by the change.
type baseline struct {
	*simulation
	// preempted leads from the victims of the order that is being tried to whether their replacements are
	// placed.
	preempted map[*snapshot.Pod]bool
}

// mayPreemptAnyway reports whether pods may preempt that are there without the change as well.
func (s *simulation) mayPreemptAnyway() bool {
	return slices.ContainsFunc(s.replacements, func(r *replacement) bool {
		return (r.waiting && r.after < 0 || r.successor || r.elsewhere) && !r.class.demand.Patient
	})
}

// without tries an order without the change where it preempts pods with it, and takes those out of the
// preempted ones that it would preempt anyway. What that costs counts towards the limit.
func (s *simulation) without(seed uint64, order int) {
	clear(s.baseline.preempted)
	if len(s.preempted)+len(s.deleted) == 0 || !s.mayPreemptAnyway() {
		return
	}
	if s.baseline.simulation == nil {
		already := slices.DeleteFunc(slices.Clone(s.evictions), func(e Eviction) bool { return !e.successor() && !e.Elsewhere })
		change := Scenario{Replaced: s.Finder.change.Replaced}
		if s.Finder.change.Before != nil {
			change = *s.Finder.change.Before
		}
		s.baseline = baseline{newSimulation(New(s.snapshot, change, s.comparison), already), map[*snapshot.Pod]bool{}}
		s.baseline.uneven = s.uneven
	}
	b := s.baseline
	b.work, b.limit = s.work, s.limit
	b.run(seed, order)
	s.work, s.cut = b.work, s.cut || b.cut
	for _, pod := range slices.Concat(b.simulation.preempted, b.deleted) {
		b.preempted[pod] = false
	}
	for _, r := range b.replacements[b.fixed:] {
		b.preempted[r.pod] = r.node >= 0
	}
	s.preempted = slices.DeleteFunc(s.preempted, func(pod *snapshot.Pod) bool {
		_, anyway := b.preempted[pod]
		return anyway
	})
	// Without the change, other pods may come in their places.
	s.deleted = slices.DeleteFunc(s.deleted, func(pod *snapshot.Pod) bool {
		placed, anyway := b.preempted[pod]
		return anyway && !placed
	})
}

// anyway reports whether what becomes of a pod is not caused by the change: it was Pending before, replaces a
// terminating pod, or one that is preempted anyway and whose replacement is placed with the change too, or in
// neither case.
func (s *simulation) anyway(r *replacement) bool {
	if r.waiting || r.successor {
		return true
	}
	if r.group != nil {
		return false
	}
	placed, anyway := s.baseline.preempted[r.pod]
	return anyway && (r.node >= 0 || !placed)
}
