// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

// workLimit bounds how often the orders of one simulation ask a node: a package that reads no
// clock has no other limit. When it is reached, no further order is tried, and the first one tries no
// preemption any more and asks for no pod again. 30 orders of 15,000 replacements in a cluster of 5,000
// nodes take 85 million where there is room, and some ten seconds are gone at the limit on one core.
const workLimit = 200_000_000

// effort is what a simulation has cost so far.
type effort struct {
	work, limit int
	// moved counts how often a pod was put on a node or taken from one: while it is the same, a pod that
	// found no node finds none again.
	moved int
	// cut is set where the order that is being tried has reached the limit: pods may be Pending in it that
	// more work would place.
	cut bool
}

func (e *effort) spent() bool { return e.work >= e.limit }

// exhausted is as spent, and notes that something is left out for it.
func (e *effort) exhausted() bool {
	e.cut = e.cut || e.spent()
	return e.cut
}

// failure is when no node took the pods of a class.
type failure struct {
	// freed is how often room had become free, moved how often any pod had been put on a node or taken
	// from one; 0 for never.
	freed, moved int
}

func (s *simulation) failure() failure { return failure{s.freed, s.moved} }

// again reports whether a pod of the class is refused as before.
func (s *simulation) again(c *class, before failure) bool {
	return before.moved == s.moved || before.freed == s.freed && c.steady() || before.moved > 0 && s.exhausted()
}
