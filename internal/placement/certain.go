// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "slices"

// Simulate places the replacements of all evicted pods together, as the scheduler does, beside
// the pods that were Pending before: once for each order, of which the seed makes the first one
// and every other. Equal arguments give equal outcomes. Pods that the Change of the finder lets
// leave, and that are not among the evicted ones, keep their places in most orders, and in some they do not.
// Orders are left out where it is proved what they come to, and where most of the pods are those of other changes.
func (f *Finder) Simulate(evicted []Eviction, orders int, seed uint64) *Outcome {
	s := newSimulation(f, evicted)
	enough := s.enough(orders)
	if others := s.elsewhere(); others > 0 && s.proved && enough == 1 && s.allFit {
		out := newSimulation(f, withoutOthers(evicted)).try(1, seed)
		out.Orders, out.Wanted, out.Certain = orders, orders, true
		out.Others = Others{Replacements: others} // None of them, and none of these, is missing.
		return out
	}
	out := s.try(min(enough, s.share(orders)), seed)
	if out.Wanted = orders; out.Orders == enough {
		out.Orders = orders
	}
	return out
}

// withoutOthers leaves out what replaces the pods that other changes of the run evict: where it is proved that all of these find
// nodes, where these are decides nothing. A plan of many changes would place all pods of the earlier ones for each of
// the later ones.
func withoutOthers(evicted []Eviction) []Eviction {
	out := slices.Clone(evicted)
	for i := range out {
		if out[i].Elsewhere {
			out[i].Scheduling = nil
		}
	}
	return out
}

const (
	// fewest is how many orders are tried for a change whose pods are few beside those of others: one of each kind of
	// order. See run.
	fewest = 5
	// fewestAlone is that for a change that evicts no pod itself which is replaced.
	fewestAlone = 2
)

// share returns how many of so many orders are tried: as many as the change has of the replacements. The cost of all
// changes of a run would grow with the square of their number otherwise.
func (s *simulation) share(orders int) int {
	others := s.elsewhere()
	if others == 0 {
		return orders
	}
	own := 0
	for _, r := range s.replacements[:s.fixed] {
		if !r.elsewhere && !r.waiting && !r.successor {
			own++
		}
	}
	if own == 0 {
		return min(orders, fewestAlone)
	}
	return min(orders, max(fewest, orders*own/(own+others)))
}

// enough returns how many of so many orders show all that any order comes to. Where every pod finds a node in
// each order, or in none, that is one, and two where it is not known of pods whether they are evicted, are gone, or
// are placed by another scheduler: they all are in one of the first two orders, and none is in the other.
func (s *simulation) enough(orders int) int {
	switch s.proved = s.stages.comes == nil && s.certain(); {
	case !s.proved:
		return orders
	case len(s.undecided)+len(s.overdue) > 0 || slices.ContainsFunc(s.replacements[:s.fixed], func(r *replacement) bool { return r.perhaps || r.foreign() }):
		return min(2, orders)
	default:
		return min(1, orders)
	}
}

// certain reports whether it is proved of every pod to place that it finds a node, and is created, in each order or in
// none. The node is the first one that is asked for at the moment of its creation: room only grows from moment to
// moment, where no node from which pods are evicted takes others, and none comes. Then no pod preempts another or is delayed, and a
// StatefulSet waits for none.
func (s *simulation) certain() bool {
	if len(s.nominated) > 0 || s.refillsNow() || s.anySetWaits() || !s.allCreated() {
		return false
	}
	all, at, forbidden := newCompetition(s), map[resultKey]int{}, false
	for _, r := range s.replacements[:s.fixed] {
		if r.class.forbidden != nil {
			forbidden = true
			continue
		}
		if !r.independent() {
			return false
		}
		key := resultKey{r.class.search, r.class.demand}
		n, known := at[key]
		if !known {
			if s.mayReturn(r.class) {
				return false
			}
			n = len(all.kinds)
			at[key] = n
			all.kinds = append(all.kinds, rival{class: r.class, asks: asksOf(r.class.demand), never: s.capacity(r.class, 1) == 0})
		}
		if all.kinds[n].pods++; all.kinds[n].never && (r.set != nil || r.successor) {
			return false
		}
	}
	s.allFit = !forbidden && !slices.ContainsFunc(all.kinds, func(k rival) bool { return k.never })
	return all.gather() && all.fit()
}

// fit reports whether all of a kind find nodes, for each that finds one at all.
func (c *competition) fit() bool {
	return !slices.ContainsFunc(c.kinds, func(k rival) bool { return !k.never && !c.fits(&k) })
}

// independent reports whether the pod's class is, and no StatefulSet waits for another scheduler.
func (r *replacement) independent() bool {
	return r.class.independent() && (r.set == nil || !r.foreign())
}

// independent reports whether requests and what nodes are alone decide which nodes take pods of a class.
func (c *class) independent() bool {
	return c.named == nil && c.podRules == nil && c.needs.empty() && c.attached == nil && c.search.open == nil
}

// mayReturn reports whether pods of a class find a node that evicts them again, or that is drained: how many do is a matter
// of the order.
func (s *simulation) mayReturn(c *class) bool {
	for i, p := range s.places {
		if s.empties(p, c) && s.static(c.search, int32(i)) {
			return true
		}
	}
	return false
}

// anySetWaits reports whether a StatefulSet waits for a pod that is there, or never creates one.
func (s *simulation) anySetWaits() bool {
	for _, set := range s.sets {
		if len(set.unready) > 0 || slices.ContainsFunc(set.pods, func(r *replacement) bool { return r.class.forbidden != nil }) {
			return true
		}
	}
	return false
}

// allCreated reports whether no LimitRange and no missing PriorityClass refuses a replacement, and no ResourceQuota does
// when all others are created before it.
func (s *simulation) allCreated() bool {
	spent := make([]int64, len(s.quotas.base))
	for _, r := range s.replacements[:s.fixed] {
		if r.waiting || r.class.forbidden != nil {
			continue
		}
		if s.admitted(r.pod).refusal != nil {
			return false
		}
		c := s.quotas.of(s, r.pod)
		if c == nil {
			continue
		}
		if c.refusal != nil {
			return false
		}
		for i, limit := range c.limits {
			if spent[limit] += c.asks[i]; spent[limit] > 0 && spent[limit] > s.quotas.base[limit] {
				return false
			}
		}
	}
	return true
}
