// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

// topology numbers the values that a label has on nodes.
type topology struct {
	// of is the number of each node's value, -1 where it does not have the label.
	of      []int32
	domains int
}

// counts are numbers of pods by domain, in an order that is being tried and before it.
type counts struct {
	*topology
	base, now   []int32
	total0      int
	total       int
	changed     bool
	generations int
}

func newCounts(t *topology) counts { return counts{topology: t, base: make([]int32, t.domains)} }

// add counts pods of a node.
func (c *counts) add(i int32, n int32) {
	domain := c.of[i]
	if domain < 0 {
		return
	}
	if c.now == nil {
		c.base[domain] += n
		c.total0 += int(n)
		return
	}
	c.now[domain] += n
	c.total += int(n)
	c.changed = true
	c.generations++
}

// reset takes back what an order has changed, and is called before the first one.
func (c *counts) reset() {
	if c.now == nil {
		c.now, c.changed = make([]int32, len(c.base)), true
	}
	if c.changed {
		copy(c.now, c.base)
		c.total, c.changed = c.total0, false
		c.generations++
	}
}

// on returns how many pods are in the domain of a node, ok is false where it is in none.
func (c *counts) on(i int32) (n int32, ok bool) {
	domain := c.of[i]
	if domain < 0 {
		return 0, false
	}
	return c.now[domain], true
}

// counter counts the pods that a term or a constraint selects.
type counter struct {
	counts
	// soft has the counts of one for what pods prefer, nil for others.
	soft    *softCounts
	selects func(o occupant) bool
	known   map[podKey]bool
	// eligible are the nodes whose pods count, nil for all. Those of a soft one are found out where its pods are, which are few.
	eligible []bool
	includes func(i int) bool
	// lasting is set where pods that are terminating do not count.
	lasting bool
}

type podKey struct {
	namespace string
	labels    uintptr
}

// matches reports whether the counter counts a pod; pods with equal labels share the answer.
func (c *counter) matches(o occupant) bool {
	key := podKey{o.pod.Namespace, pointer(o.pod.Labels)}
	selected, known := c.known[key]
	if !known {
		selected = c.selects(o)
		c.known[key] = selected
	}
	return selected
}

// count adds a pod of a node, or takes it back where n is -1.
func (c *counter) count(i int32, o occupant, n int32) {
	if c.matches(o) {
		c.countMatching(i, o, n)
	}
}

// countMatching does so for one that the counter selects.
func (c *counter) countMatching(i int32, o occupant, n int32) {
	if c.lasting && o.terminating() {
		return
	}
	switch {
	case c.soft == nil:
		if c.eligible == nil || c.eligible[i] {
			c.add(i, n)
		}
	case c.includes == nil || c.includes(int(i)):
		c.soft.add(i, n)
	}
}

func (c *counter) reset() {
	if c.soft != nil {
		c.soft.reset()
	} else {
		c.counts.reset()
	}
}
