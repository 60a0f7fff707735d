// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"maps"
	"slices"
)

// softCounts are numbers of pods by domain for what pods prefer, in an order that is being tried and before it. There may be some for
// each workload: where domains are many, only those that have pods are kept.
type softCounts struct {
	*topology

	base, now      []int32
	baseOf, nowOf  map[int32]int32
	based, changed bool
}

// fewDomains is up to how many a number is kept for each.
const fewDomains = 64

func newSoftCounts(t *topology) *softCounts {
	if t.domains <= fewDomains {
		return &softCounts{topology: t, now: make([]int32, t.domains)}
	}
	return &softCounts{topology: t, nowOf: map[int32]int32{}}
}

// add counts pods of a node.
func (c *softCounts) add(i, n int32) {
	domain := c.of[i]
	if domain < 0 {
		return
	}
	c.changed = true
	if c.nowOf == nil {
		c.now[domain] += n
	} else {
		c.nowOf[domain] += n
	}
}

// on returns how many pods are in the domain of a node, in is false where it is in none.
func (c *softCounts) on(i int32) (n int32, in bool) {
	domain := c.of[i]
	switch {
	case domain < 0:
		return 0, false
	case c.nowOf == nil:
		return c.now[domain], true
	default:
		return c.nowOf[domain], true
	}
}

// reset takes back what an order has changed, and is called before the first one.
func (c *softCounts) reset() {
	switch {
	case !c.based:
		c.base, c.baseOf, c.based = slices.Clone(c.now), maps.Clone(c.nowOf), true
	case c.changed:
		copy(c.now, c.base)
		clear(c.nowOf)
		maps.Copy(c.nowOf, c.baseOf)
	}
	c.changed = false
}
