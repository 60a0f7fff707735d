// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

// expect nominates a node for a pod that has preempted others. The scheduler tries the pod again once these have
// terminated, a second later at the earliest, and has tried all others that are queued by then. On this node they
// find the pod; on other nodes it counts neither for their affinity and spread, nor for what keeps them apart
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/runtime/framework.go, RunFilterPluginsWithNominatedPods).
func (s *simulation) expect(r *replacement, node int32) {
	r.node, r.expected = node, true
	s.add(node, occupant{pod: r.pod, replacement: r, expected: true})
	s.expected = append(s.expected, r)
}

// seat binds the expected pods to their nodes, and queues those again that these do not take any more. It reports
// whether it has bound any.
func (s *simulation) seat() (bound bool) {
	all := s.expected
	if s.prompt {
		s.chance.shuffle(all) // The pods that the others have preempted may terminate sooner.
	}
	for at, r := range all {
		if !r.expected {
			continue
		}
		r.expected = false
		s.remove(r.node, occupant{pod: r.pod, replacement: r, expected: true})
		s.expected = all[at+1:]
		if s.exhausted() || s.ask(r.class, r.node) == takes {
			s.bind(r, r.node)
			bound = true
			continue
		}
		r.node = -1
		s.queue.push(r)
	}
	s.expected = all[:0]
	return bound
}

// askBesideExpected is the answer of a node to pods with rules where pods are expected, maybe on it.
func (s *simulation) askBesideExpected(c *class, i int32) answer {
	count := func(n int64) {
		for _, o := range s.state(i).placed {
			if o.expected {
				s.rules.update(s, i, o, n)
			}
		}
	}
	count(1)
	_, a := c.podRules.ask(i)
	count(-1)
	return a
}
