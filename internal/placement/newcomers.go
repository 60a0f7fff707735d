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
	// kinds are the numbers of the kinds, in an order that chance decides. opened is how many of each there are.
	kinds, opened []int
	// templates are what pods that run on every node hold of one of each kind.
	templates []nodeState
	// from is the first node that may take pods of a class: room only shrinks. full are the classes that none takes.
	from map[*class]int
	full map[*class]bool
	// refused remembers which kinds refuse pods of a search.
	refused map[*nodeSearch][]bool
	// level is set for an order in which all are there before the first pod is placed, and take pods in turn: next is the
	// one that is asked first. In the others each is filled before the next one comes.
	level bool
	next  int
}

// awaitNodes counts the pods that found no node in this order, and that nodes take which come: the highest priority first, each
// in the room that the ones before have left. It is not certain of pods whose place also depends on where others run, or
// on volumes that are not there yet.
func (s *simulation) awaitNodes(out *Outcome, missing, others int, first bool) {
	var own, elsewhere Range
	if len(s.arrivals()) > 0 {
		for _, r := range s.takenByNewcomers(out.Orders) {
			certain := r.class.podRules == nil && r.class.search.open == nil
			switch {
			case r.elsewhere:
				elsewhere.note(certain)
			case !s.anyway(r):
				own.note(certain)
				s.workloads[r.workload].arriving.note(certain)
				if r.group != nil {
					r.group.arriving.note(certain)
				}
			}
		}
	}
	out.Arriving.span(own, first)
	out.Staying.span(own.from(missing), first)
	out.Others.Missing.span(elsewhere.from(others), first)
	out.Others.All.span(own.Plus(elsewhere).from(missing+others), first)
	for _, w := range s.workloads {
		w.Arriving.span(w.arriving, first)
		w.Staying.span(w.arriving.from(w.missing), first)
	}
	for _, g := range s.groups {
		g.Arriving.span(g.arriving, first)
	}
}

// note counts one that does, or one that may.
func (r *Range) note(certain bool) {
	if r.Max++; certain {
		r.Min++
	}
}

// from is what is left of so many.
func (r Range) from(n int) Range { return Range{n - r.Max, n - r.Min} }

// span extends a range by that of another order.
func (r *Range) span(other Range, first bool) {
	if first {
		*r = other
	}
	r.Min, r.Max = min(r.Min, other.Min), max(r.Max, other.Max)
}

// takenByNewcomers returns the pods that found no node, and that one which comes takes. Those that are absent in this order count
// as in the last one in which they were not, as they do elsewhere.
func (s *simulation) takenByNewcomers(order int) (taken []*replacement) {
	var left []*replacement
	for _, r := range s.replacements {
		switch {
		case r.missing() && r.awaitsNode():
			left = append(left, r)
		case r.perhaps && r.absent && !r.ended && r.after != kept && !r.fits && s.welcome[r.pod] && r.denied == nil:
			taken = append(taken, r)
		}
	}
	slices.SortStableFunc(left, s.inTurn)
	n, there := s.newcomers(order, len(left)), map[*replacement]bool{}
	for _, r := range left {
		if s.welcome[r.pod] = (r.created || s.comesNext(r, there)) && n.take(r); s.welcome[r.pod] {
			there[r], taken = true, append(taken, r)
		}
	}
	return taken
}

// awaitsNode reports whether it is a node alone that a missing pod lacks.
func (r *replacement) awaitsNode() bool {
	return !r.deleted && !r.awaited && !r.foreign() && r.class.forbidden == nil && r.refusal() == nil
}

// newcomers prepares the nodes that come for so many pods.
func (s *simulation) newcomers(order, pods int) *newcomers {
	kinds := len(s.arrivals())
	n := &newcomers{
		simulation: s, kinds: s.chance.source(ofStarts, 1).Perm(kinds), opened: make([]int, kinds), templates: make([]nodeState, kinds),
		from: map[*class]int{}, full: map[*class]bool{}, refused: map[*nodeSearch][]bool{}, level: order%2 == 1,
	}
	for kind, p := range s.arrivals() {
		n.templates[kind] = s.template(p)
	}
	if !n.level {
		return n
	}
	for more := true; more && len(n.nodes) < pods; {
		more = false
		for _, kind := range n.kinds {
			if p := s.arrivals()[kind]; n.opened[kind] < p.coming.Count {
				n.open(kind)
				more = true
			}
		}
	}
	return n
}

// template is what pods that run on every node hold of one that comes.
func (s *simulation) template(p *place) nodeState {
	out := nodeState{has: p.has}
	if p.has != nil {
		out.others = make([]int64, len(p.has.Others))
	}
	for _, pod := range s.everywhere(p.coming) {
		out.hold(p, occupant{pod: pod}, 1)
		out.attach(p.limits, s.attachments.of(pod), 1)
	}
	return out
}

// inTurn orders pods as the queue does, and those that are not created yet behind the others, by their ordinals. In some orders
// those that were Pending before come last: the scheduler has tried them more often, and puts off the next time for longer.
func (s *simulation) inTurn(a, b *replacement) int {
	if late := s.prompt && a.waiting; late != (s.prompt && b.waiting) {
		return after(late)
	}
	if c := cmp.Compare(b.class.demand.Priority, a.class.demand.Priority); c != 0 {
		return c
	}
	if a.created != b.created {
		return after(!a.created)
	}
	if a.created {
		return cmp.Or(cmp.Compare(a.since, b.since), a.rank-b.rank)
	}
	return cmp.Or(a.ordinal-b.ordinal, a.rank-b.rank)
}

func after(is bool) int {
	if is {
		return 1
	}
	return -1
}

// comesNext reports whether a StatefulSet creates a pod once others are on nodes that have come.
func (s *simulation) comesNext(r *replacement, there map[*replacement]bool) bool {
	return r.set != nil && s.before(r) == nil && !slices.ContainsFunc(r.set.pods, func(earlier *replacement) bool {
		return earlier.ordinal < r.ordinal && earlier.node < 0 && !there[earlier]
	})
}

// take puts a pod on a node that takes it, and reports whether one does.
func (n *newcomers) take(r *replacement) bool {
	if n.full[r.class] {
		return false
	}
	at := n.find(r.class)
	if n.full[r.class] = at == nil; at == nil {
		return false
	}
	at.hold(at.place, occupant{pod: r.pod, replacement: r}, 1)
	at.attach(at.limits, n.attachments.of(r.pod), 1)
	return true
}

// find returns a node that takes pods of a class, nil for none.
func (n *newcomers) find(c *class) *newcomer {
	if n.level {
		for range n.nodes {
			one := n.nodes[n.next%len(n.nodes)]
			if n.next++; n.takes(one, c) {
				return one
			}
		}
	} else {
		for ; n.from[c] < len(n.nodes); n.from[c]++ {
			if one := n.nodes[n.from[c]]; n.takes(one, c) {
				return one
			}
		}
	}
	for _, kind := range n.kinds {
		p := n.arrivals()[kind]
		if p.coming.Count > 0 && n.opened[kind] >= p.coming.Count || !n.takes(&newcomer{place: p, nodeState: n.templates[kind]}, c) {
			continue
		}
		return n.open(kind)
	}
	return nil
}

// open lets another node of a kind come.
func (n *newcomers) open(kind int) *newcomer {
	n.opened[kind]++
	one := &newcomer{place: n.arrivals()[kind], nodeState: n.templates[kind]}
	one.others, one.holdings, one.attachedTo = slices.Clone(one.others), one.copied(), one.clone()
	n.nodes = append(n.nodes, one)
	return one
}

// takes reports whether a node takes pods of a class, whatever these have to do with other pods.
func (n *newcomers) takes(one *newcomer, c *class) bool {
	if n.refused[c.search] == nil {
		n.refused[c.search] = make([]bool, len(n.kinds))
		for kind, p := range n.arrivals() {
			_, n.refused[c.search][kind] = n.refuses(c.search, p)
		}
	}
	if one.portTaken(c) || one.diskTaken(c) || n.refused[c.search][one.index-len(n.places)] || one.full(one.limits, c.attached) != nil {
		return false
	}
	_, _, lacks := one.short(c.demand)
	return !lacks
}
