// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
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
	// leaving are the pods that drains evict, by place, and last is set for turns in which no node comes before the others are gone.
	leaving map[int32][]*snapshot.Pod
	last    map[int]bool
	// n counts the stages of all orders, opened is the last moment of this one at which nodes have come, before its
	// beginning where none has.
	n      int
	opened int64
	// late is set while pods that have waited are not tried on the nodes that have come: the scheduler has tried them more often,
	// and puts off the next time for longer (k8s.io/kubernetes v1.37.2 pkg/scheduler/backend/queue/backoff_queue.go,
	// calculateBackoffDuration).
	late bool
}

// init finds the places that come or go, and the pods that drains evict.
func (t *stages) init(s *simulation) {
	places := s.places
	t.leaving, t.last = map[int32][]*snapshot.Pod{}, map[int]bool{}
	type turn struct {
		n     int
		comes bool
	}
	moving := map[turn]int{}
	for i, p := range places {
		if p.coming != nil || p.deleted {
			its := turn{p.turn, p.coming != nil}
			t.moving, t.before = append(t.moving, int32(i)), append(t.before, moving[its])
			moving[its]++
			t.last[p.turn] = t.last[p.turn] || p.coming != nil && p.coming.Last
		}
		if p.drained && p.deleted {
			for _, pod := range s.snapshot.Pods[p.node.Name] {
				if at, leaves := s.evicted[pod]; leaves && at == TurnBegins(p.turn) {
					s.evicted[pod] = TurnBegins(p.turn) + 1
					t.leaving[int32(i)] = append(t.leaving[int32(i)], pod)
				}
			}
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

// planStages has nodes come and go in an order. A MachineSet creates a machine when another one is deleted: its node is there before that of the other
// one is gone in half of the orders, and after that in the others
// (openshift/machine-api-operator pkg/controller/machineset/controller.go, syncReplicas). The nodes of a turn come together in
// half of the orders, and in waves in the others. So they are cordoned and drained: until then one takes what is evicted from
// others.
func (s *simulation) planStages(order int) {
	t, places := &s.stages, s.places
	t.moments, t.opened = t.moments[:0], math.MinInt64
	clear(s.budgets.spent) // The change's own evictions come at other moments.
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
			if order%2 == 0 && !t.last[p.turn] {
				t.goes[i] = begins + turnLength*3/4
			}
			if p.drained {
				s.drainAt(i, begins+1+wave)
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

// drainAt has a node drained at a moment, which is after the first one: what nodes hold at that is the same in all orders.
func (s *simulation) drainAt(i int32, moment int64) {
	s.stages.drains[i] = moment
	s.stages.moments = append(s.stages.moments, moment)
	for _, pod := range s.stages.leaving[i] {
		s.evicted[pod] = moment
		if r := s.replacing[pod]; r != nil {
			r.planned = moment
		}
	}
}

// drainOf is when a node is drained, 0 for one that is not.
func (t *stages) drainOf(i int32) int64 {
	if t.comes == nil || i < 0 || t.drains[i] == math.MaxInt64 {
		return 0
	}
	return t.drains[i]
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
	s.work += len(s.replacements)
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
		s.createDue(func(r *replacement) bool { return r.waiting })
		s.pass()
	}
}

// leaveMachine evicts the pods that this order has put on a node which is drained, or is deleted. A drain leaves those that run on every
// node.
func (s *simulation) leaveMachine(i int32, deleted bool) {
	for _, o := range slices.Clone(s.state(i).placed) {
		r := o.replacement
		switch {
		case r == nil || r.ended || !deleted && s.snapshot.RunsOnEveryNode(o.pod):
			continue
		case r.nominee:
			// It is nominated for another node, as before it was for this one.
			s.withdrawNomination(r)
			r.node = -1
			continue
		}
		s.remove(i, o)
		s.moveOn(r)
	}
	s.endJobs()
}

// moveOn has a replacement created anew that was evicted once more. A pod that was Pending before has its quota already.
func (s *simulation) moveOn(r *replacement) {
	r.node = -1
	s.due(r, s.moment)
	r.moves++
	s.used.release(r.binding)
	r.binding, s.budgets.recovered = nil, nil
	if !r.waiting {
		r.created = false
		s.quotas.refund(s, r.pod)
	}
	switch {
	case r.pod.Controller == nil:
		r.deleted = true
		s.quotas.release(s, r.pod)
	case s.fail(r.pod):
		s.end(r)
	}
}
