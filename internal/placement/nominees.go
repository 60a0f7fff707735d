// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "slices"

// enoughNominations is how often a pod preempts others in vain before it is bound with its last victims gone. In a
// cluster only chance ends this: what is created instead of a victim may take room first, beside which the
// pod must not run, on a node where the nominee does not count, and becomes its next victim.
const enoughNominations = 3

// nominate keeps the room for a pod that has preempted others. The scheduler tries the pod again once these have
// terminated, a second later at the earliest, and has tried all others that are queued by then. On its node they
// must fit with it and without it; on other nodes it counts neither for their affinity and spread, nor for what
// keeps them apart
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods).
func (s *simulation) nominate(r *replacement, node int32) {
	r.node, r.nominee = node, true
	s.add(node, occupant{pod: r.pod, replacement: r, nominee: true})
	s.nominees = append(s.nominees, r)
}

// withdrawNomination takes the room of a nominee away.
func (s *simulation) withdrawNomination(r *replacement) {
	s.remove(r.node, occupant{pod: r.pod, replacement: r, nominee: true})
	r.nominee = false
}

// yield queues the nominees again that a pod of a higher priority does not see.
func (s *simulation) yield(to *replacement) {
	for _, r := range s.nominees {
		if r.nominee && r.class.demand.Priority < to.class.demand.Priority {
			s.withdrawNomination(r)
			r.node, r.yielded = -1, true
			s.queue.push(r)
		}
	}
}

// bindNominees binds the nominees to their nodes, and queues those again that these do not take any more. One stays
// nominated whose node waits for pods that were terminating before the change. It reports whether any pod was bound
// or queued.
func (s *simulation) bindNominees() (bound, queued bool) {
	all := s.nominees
	s.nominees = nil
	if s.prompt {
		slices.Reverse(all) // The pods that the others have preempted may terminate sooner.
	}
	var left []*replacement
	for _, r := range all {
		if !r.nominee {
			continue
		}
		node := r.node
		s.withdrawNomination(r)
		switch {
		case s.exhausted() || s.ask(r.class, node) == takes:
			s.bind(r, node)
			bound = true
		case s.places[node].node.Name == r.pod.Nominated && s.keepsRoom(r.class, node):
			s.add(node, occupant{pod: r.pod, replacement: r, nominee: true})
			r.nominee = true
			left = append(left, r)
		default:
			r.node = -1
			s.queue.push(r)
			queued = true
		}
	}
	s.nominees = append(s.nominees, left...)
	return bound, queued
}

// askBesideNominees is the answer of a node with nominees to pods with rules.
func (s *simulation) askBesideNominees(c *class, i int32) answer {
	count := func(n int64) {
		for _, o := range s.state(i).placed {
			if o.nominee {
				s.rules.update(s, i, o, n)
				s.work++
			}
		}
	}
	count(1)
	_, a := c.podRules.ask(i)
	count(-1)
	if a == takes {
		_, a = c.podRules.ask(i)
	}
	return a
}
