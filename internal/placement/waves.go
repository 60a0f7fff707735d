// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "slices"

// mostWaves is how many waves the pods of a moment come in at most.
const mostWaves = 8

// stagger has the pods of each moment come in waves, in two of five orders. The scheduler takes the pod of the highest priority
// of those that are queued, but controllers create theirs one after the other, and nodes change one after the other: one of a
// lower priority may have a node by the time that one of a higher priority is created
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/backend/queue/scheduling_queue.go, Pop). In one of the two orders the pods of a
// workload come together, in the other those whose predecessors are on one node. Five orders later the same ones come the other
// way round: any two of different waves come in both orders.
func (s *simulation) stagger(seed uint64, order int) {
	byWorkload, byNode := order%5 == 1, order%5 == 3
	s.wave, s.waves = 0, 0
	if !s.uneven || !byWorkload && !byNode {
		return
	}
	s.waves = mostWaves
	chance, turned := newChance(seed, order-order%10), order/5%2 == 1
	for _, r := range s.replacements {
		from := nameOf(r.pod.Node)
		if byWorkload {
			from = nameOf(r.pod.Namespace, s.workloads[r.workload].String())
		}
		if r.wave = chance.of(ofWaves, from).below(mostWaves); turned {
			r.wave = mostWaves - 1 - r.wave
		}
	}
}

// letIn creates the pods of the waves behind the first one, and places them.
func (s *simulation) letIn() {
	for s.wave < s.waves-1 {
		s.wave++
		s.createDue(func(r *replacement) bool { return r.wave == s.wave })
		s.pass()
	}
}

// awaitsWave reports whether a pod comes behind those that come now.
func (s *simulation) awaitsWave(r *replacement) bool { return s.waves > 0 && r.wave > s.wave }

// differInPriority reports whether pods to place do: the waves of others come to what their ranks come to.
func (s *simulation) differInPriority() bool {
	return slices.ContainsFunc(s.replacements, func(r *replacement) bool {
		return r.class.demand.Priority != s.replacements[0].class.demand.Priority
	})
}
