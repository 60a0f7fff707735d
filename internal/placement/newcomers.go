// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"
)

// newcomer is a node that the change brings, and what pods hold of it.
type newcomer struct {
	*place
	nodeState
}

// newcomers are the nodes that come, in one order.
type newcomers struct {
	*simulation
	nodes []*newcomer
	// opened is how many of each kind there are, in the order of the kinds.
	opened []int
	// refused remembers which kinds refuse pods of a search.
	refused map[*nodeSearch][]bool
	// level is set for an order in which all are there before the first pod is placed: the emptiest takes it. In the
	// others each is filled before the next one comes.
	level bool
}

// awaitNodes counts the pods that found no node in this order, and that nodes take which come: the highest priority first, each
// in the room that the ones before have left. Pods whose place also depends on where others run are counted as those that may.
func (s *simulation) awaitNodes(out *Outcome, missing int, first bool) {
	least, most := 0, 0
	if len(s.arrivals()) > 0 {
		for _, r := range s.takenByNewcomers(out.Orders) {
			certain := r.class.podRules == nil
			if s.anyway(r) || r.elsewhere {
				continue
			}
			most++
			s.workloads[r.workload].arriving.note(certain)
			if r.group != nil {
				r.group.arriving.note(certain)
			}
			if certain {
				least++
			}
		}
	}
	out.Arriving.span(least, most, first)
	out.Staying.span(missing-most, missing-least, first)
	for _, w := range s.workloads {
		w.Arriving.span(w.arriving.Min, w.arriving.Max, first)
	}
	for _, g := range s.groups {
		g.Arriving.span(g.arriving.Min, g.arriving.Max, first)
	}
}

// note counts one that does, or one that may.
func (r *Range) note(certain bool) {
	if r.Max++; certain {
		r.Min++
	}
}

// span extends a range by that of another order.
func (r *Range) span(least, most int, first bool) {
	if first {
		*r = Range{least, most}
	}
	r.Min, r.Max = min(r.Min, least), max(r.Max, most)
}

// takenByNewcomers returns the pods that found no node, and that one which comes takes.
func (s *simulation) takenByNewcomers(order int) (taken []*replacement) {
	left := slices.DeleteFunc(slices.Clone(s.replacements), func(r *replacement) bool {
		return !r.missing() || r.deleted || r.foreign() || r.class.forbidden != nil || r.refusal() != nil
	})
	slices.SortStableFunc(left, s.inTurn)
	n := &newcomers{simulation: s, opened: make([]int, len(s.arrivals())), refused: map[*nodeSearch][]bool{}, level: order%2 == 1}
	if n.level {
		n.openAll(len(left))
	}
	there := map[*replacement]bool{}
	for _, r := range left {
		if !r.created && !s.comesNext(r, there) {
			continue
		}
		if at := n.find(r.class); at != nil {
			at.hold(at.place, occupant{pod: r.pod, replacement: r}, 1)
			at.attach(at.limits, s.attachments.of(r.pod), 1)
			there[r], taken = true, append(taken, r)
		}
	}
	return taken
}

// inTurn orders pods as the queue does, and pods that are not created yet behind the others, by their ordinals. In some orders
// those that were Pending before come last: the scheduler has tried them more often, and puts off the next time for longer.
func (s *simulation) inTurn(a, b *replacement) int {
	number := map[bool]int{true: 1}
	late := number[s.prompt && a.waiting] - number[s.prompt && b.waiting]
	return cmp.Or(late, cmp.Compare(b.class.demand.Priority, a.class.demand.Priority), number[!a.created]-number[!b.created], cmp.Compare(a.since, b.since), a.ordinal-b.ordinal, a.rank-b.rank)
}

// comesNext reports whether a StatefulSet creates a pod once others are on nodes that have come.
func (s *simulation) comesNext(r *replacement, there map[*replacement]bool) bool {
	return r.set != nil && s.before(r) == nil && !slices.ContainsFunc(r.set.pods, func(earlier *replacement) bool {
		return earlier.ordinal < r.ordinal && earlier.node < 0 && !there[earlier]
	})
}

// find returns a node that takes pods of a class, nil for none.
func (n *newcomers) find(c *class) *newcomer {
	var best *newcomer
	for _, one := range n.nodes {
		if (best == nil || n.level && one.pods < best.pods) && n.takes(one, c) {
			best = one
		}
	}
	for kind := 0; best == nil && kind < len(n.opened); kind++ {
		if one := n.open(kind); one != nil && n.takes(one, c) {
			n.opened[kind]++
			n.nodes = append(n.nodes, one)
			best = one
		}
	}
	return best
}

// openAll lets all nodes come, no more than so many of a kind.
func (n *newcomers) openAll(most int) {
	for kind := range n.opened {
		for one := n.open(kind); one != nil && n.opened[kind] < most; one = n.open(kind) {
			n.opened[kind]++
			n.nodes = append(n.nodes, one)
		}
	}
}

// open returns another node of a kind, nil where no more come. The pods that run on every node are on it.
func (n *newcomers) open(kind int) *newcomer {
	p := n.arrivals()[kind]
	if p.coming.Count > 0 && n.opened[kind] >= p.coming.Count {
		return nil
	}
	one := &newcomer{place: p, nodeState: nodeState{has: p.has}}
	if p.has != nil {
		one.others = make([]int64, len(p.has.Others))
	}
	for _, pod := range n.snapshot.Pods[p.coming.Like] {
		if n.snapshot.RunsOnEveryNode(pod) && !pod.Terminating && !pod.Completed {
			one.hold(p, occupant{pod: pod}, 1)
			one.attach(p.limits, n.attachments.of(pod), 1)
		}
	}
	return one
}

// takes reports whether a node takes pods of a class, whatever these have to do with other pods.
func (n *newcomers) takes(one *newcomer, c *class) bool {
	n.work++
	if n.refused[c.search] == nil {
		n.refused[c.search] = make([]bool, len(n.opened))
		for kind, p := range n.arrivals() {
			_, n.refused[c.search][kind] = n.refuses(c.search, p)
		}
	}
	if n.refused[c.search][one.index-len(n.places)] || one.portTaken(c.ports) || one.full(one.limits, c.attached) != nil {
		return false
	}
	_, _, lacks := one.short(c.demand)
	return !lacks
}
