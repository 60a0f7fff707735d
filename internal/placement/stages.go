// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"
)

// turnLength is how far apart the turns of a rollout are, in seconds. What happens in one has ended before the next one begins:
// it is more than any grace period.
const turnLength = 16 * longestWait

// TurnBegins returns the moment at which nodes are drained in a turn of a rollout: after that many others.
func TurnBegins(turn int) int64 { return int64(turn) * turnLength }

// stages are when nodes come and go while a change rolls out, in turns: some nodes are drained, they are deleted, and others come.
// With a surge these come first.
type stages struct {
	// comes, drains and goes are, by place, the moments from which it is there, is drained, and is gone. They are nil where a
	// change neither brings nodes nor deletes any.
	comes, drains, goes []int64
	// moving are the places that come or go, each with how many of its turn do so before it, moments when they do in an order.
	moving  []int32
	before  []int
	moments []int64
	// n counts the stages of all orders, opened is the last moment of this one at which nodes have come, before its
	// beginning where none has.
	n      int
	opened int64
	// late is set while pods that have waited are not tried on the nodes that have come: the scheduler has tried them more often,
	// and puts off the next time for longer (k8s.io/kubernetes v1.37.2 pkg/scheduler/backend/queue/backoff_queue.go,
	// calculateBackoffDuration).
	late bool
}

// init finds the places that come or go.
func (t *stages) init(places []*place) {
	type turn struct {
		n     int
		comes bool
	}
	moving := map[turn]int{}
	for i, p := range places {
		if p.coming != nil || p.deleted {
			its := turn{p.turn, p.coming != nil}
			t.moving, t.before = append(t.moving, int32(i)), append(t.before, moving[its]) //nolint:gosec // A cluster has no two thousand million nodes.
			moving[its]++
		}
	}
	if len(t.moving) == 0 {
		return
	}
	t.comes, t.drains, t.goes = make([]int64, len(places)), make([]int64, len(places)), make([]int64, len(places))
	for i := range places {
		t.comes[i], t.drains[i], t.goes[i] = math.MinInt64, math.MaxInt64, math.MaxInt64
	}
}

// plan has nodes come and go in an order. A MachineSet creates a machine when another one is deleted: its node is there before that of the other
// one is gone in half of the orders, and after that in the others
// (openshift/machine-api-operator pkg/controller/machineset/controller.go, syncReplicas). The nodes of a turn come together in
// half of the orders, and in waves in the others. So they are cordoned: until then one takes what is evicted from others.
func (t *stages) plan(places []*place, order int) {
	t.moments, t.opened = t.moments[:0], math.MinInt64
	waves := int64(1)
	if order/2%2 == 1 {
		waves = mostWaves
	}
	for k, i := range t.moving {
		p := places[i]
		begins, wave := TurnBegins(p.turn), int64(t.before[k])%waves
		switch {
		case p.coming == nil:
			t.goes[i] = begins + turnLength/4
			if order%2 == 0 {
				t.goes[i] = begins + turnLength*3/4
			}
			if p.drained {
				t.drains[i] = begins + wave
				t.moments = append(t.moments, t.drains[i])
			}
			t.moments = append(t.moments, t.goes[i])
		case p.coming.Surges:
			t.comes[i] = begins
			t.moments = append(t.moments, begins)
		default:
			t.comes[i] = begins + turnLength/2 + wave
			t.moments = append(t.moments, t.comes[i])
		}
	}
	slices.Sort(t.moments)
	t.moments = slices.Compact(t.moments)
}

// there reports whether a node exists at a moment.
func (t *stages) there(i int32, moment int64) bool {
	return t.comes == nil || t.comes[i] <= moment && moment < t.goes[i]
}

// open reports whether a node is there for pods of a search: one that is drained is for those that tolerate its cordon.
func (t *stages) open(l *nodeSearch, i int32, moment int64) bool {
	return t.comes == nil || t.comes[i] <= moment && moment < t.goes[i] && (moment < t.drains[i] || l.cordon)
}

// meanwhile is a node of a rollout before it is drained in its turn. Its own taints are those of before: those after the change are the ones of
// the node that comes in its place.
func (p *place) meanwhile() *place {
	if !p.drained || !p.deleted {
		return p
	}
	out := *p
	out.drained, out.closed, out.after = false, false, p.node.Taints
	out.soft = softTaints(out.after)
	return &out
}

// enter has the nodes come and go that do so at this moment. What is on those that go is created anew.
func (s *simulation) enter() {
	if !slices.Contains(s.stages.moments, s.moment) {
		return
	}
	s.stages.n++
	s.freed++
	s.moved++
	for _, i := range s.stages.moving {
		switch s.moment {
		case s.stages.comes[i]:
			s.stages.opened, s.stages.late = s.moment, s.prompt
		case s.stages.drains[i], s.stages.goes[i]:
			s.leaveMachine(i, s.moment == s.stages.goes[i])
		}
	}
}

// catchUp tries the pods that were late.
func (s *simulation) catchUp() {
	if s.stages.late {
		s.stages.late = false
		s.retry()
		s.pass()
	}
}

// leaveMachine evicts the pods that this order has put on a node which is drained, or is deleted. A drain leaves those that run on every
// node.
func (s *simulation) leaveMachine(i int32, deleted bool) {
	for _, o := range slices.Clone(s.state(i).placed) {
		r := o.replacement
		if r == nil || r.ended || !deleted && s.snapshot.RunsOnEveryNode(o.pod) {
			continue
		}
		s.remove(i, o)
		r.node, r.since, r.evicted, r.after = -1, s.moment, s.moment, s.moment
		r.moves++
		s.used.release(r.binding)
		r.binding, s.budgets.recovered = nil, nil
		switch {
		case o.pod.Controller == nil:
			r.deleted = true
			s.quotas.release(s, o.pod)
		case s.fail(o.pod):
			s.end(r)
		}
	}
	s.endJobs()
}
