// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// undecided is a pod of which it is not known whether the change evicts it: it does in some orders, and
// keeps its room in the others.
type undecided struct {
	pod *snapshot.Pod
	// node is where the pod runs, -1 where the node is not known.
	node int32
	// replacement is nil where nothing replaces the pod.
	replacement *replacement
	// unread is that of its eviction.
	unread bool
}

// kept is the moment of a replacement whose pod is not evicted in an order.
const kept = math.MaxInt64

// depart notes when a pod is gone from its node, if it is sure to be.
func (s *simulation) depart(e *Eviction) {
	switch {
	case e.Unsure:
		s.doubtful(e)
	case !e.Arrives && !e.Surplus:
		s.leave(e.Pod, e.gone())
		if e.Ended {
			s.ended[e.Pod] = true
		}
	}
}

// doubtful adds a pod of which it is not known whether it is evicted. Its replacement follows by replace.
func (s *simulation) doubtful(e *Eviction) {
	pod := e.Pod
	one := &undecided{pod: pod, node: -1, unread: e.Unread}
	if p, there := s.byName[pod.Node]; there {
		one.node = int32(p.index) //nolint:gosec // A cluster has no two thousand million nodes.
	}
	s.undecided = append(s.undecided, one)
	s.isUndecided[pod] = one
}

// decide evicts the undecided pods in this order or keeps them: of three orders all are evicted in the
// first, none in the second, and each by chance in the third. Pods that are not evicted and may leave
// all the same do so in every fourth order.
func (s *simulation) decide(order int) {
	if order%4 == 1 {
		for _, one := range s.unsure {
			s.remove(one.node, occupant{pod: one.pod})
			s.isPreempted[one.pod] = true
		}
	}
	for _, one := range s.undecided {
		if order%3 == 1 || order%3 == 2 && s.chance.of(ofEvictions, nameOfPod(one.pod)).below(2) == 0 {
			s.departs(one, kept)
			continue
		}
		s.departs(one, s.stages.drainOf(one.node))
		if one.node >= 0 {
			s.remove(one.node, occupant{pod: one.pod})
		}
		s.evictUndecided(one)
	}
}

// preemptUndecided evicts an undecided pod that has kept its room so far: its replacement is created now.
func (s *simulation) preemptUndecided(one *undecided) {
	s.departs(one, s.moment)
	s.budgets.spend(s, one.pod)
	if r := one.replacement; r != nil && r.after <= s.moment {
		s.create(r)
	}
}

// evictUndecided counts an undecided pod as gone.
func (s *simulation) evictUndecided(one *undecided) {
	s.isPreempted[one.pod] = true
	s.quotas.release(s, one.pod)
	s.returnStorageOf(one.pod)
	s.budgets.spend(s, one.pod)
}

// departs sets the moment at which an undecided pod is evicted.
func (s *simulation) departs(one *undecided, moment int64) {
	if one.replacement != nil {
		s.due(one.replacement, moment)
	}
}
