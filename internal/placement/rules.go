// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

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
	selects func(o occupant) bool
	known   map[podKey]bool
	// eligible are the nodes whose pods count, nil for all.
	eligible []bool
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
	if c.eligible == nil || c.eligible[i] {
		c.add(i, n)
	}
}

// antiKey is an anti-affinity term of the pods of a namespace.
type antiKey struct {
	term      *snapshot.PodTerm
	namespace string
}

// antiTerm counts the pods that have an anti-affinity term.
type antiTerm struct {
	counts
	antiKey
}

// rules are what relates pods to each other.
type rules struct {
	topologies map[string]*topology
	// local are the counters of pods of one namespace, anywhere the others.
	local    map[string][]*counter
	anywhere []*counter
	shared   map[counterKey]*counter
	// matching are the counters that select pods, by what these have in common.
	matching map[podKey][]*counter
	terms    map[antiKey]*antiTerm
	claims   exclusives
	// pods are those of a namespace that count at the first moment, by node.
	pods map[string][]located
	// attracting are the terms by which pods attract others, or keep them away where they can.
	attracting map[rulesKey][]*attractingTerm
	// deletesDomains is set where the change deletes all nodes of a domain of topology spread.
	deletesDomains bool
	// honorsTaints is set where taints decide which nodes are domains of topology spread.
	honorsTaints bool
}

// located is a pod with the number of its node.
type located struct {
	pod  *snapshot.Pod
	node int32
}

// init finds the anti-affinity terms of all pods: each can keep pods away that know nothing of it. It counts the
// pods that use exclusive claims.
func (r *rules) init(s *simulation, evicted []Eviction) {
	r.local, r.shared, r.terms = map[string][]*counter{}, map[counterKey]*counter{}, map[antiKey]*antiTerm{}
	r.matching, r.attracting = map[podKey][]*counter{}, map[rulesKey][]*attractingTerm{}
	r.claims = newExclusives(s)
	for i, p := range s.places {
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if pod.Completed {
				continue
			}
			if d := s.spreads.find(pod); d != nil && !s.gone(int32(i), pod, 0) {
				d.count(int32(i), occupant{pod: pod}, 1)
			}
			if pod.Rules == nil && len(pod.Claims) == 0 {
				continue
			}
			r.attract(pod)
			terms := r.antiTerms(s, pod)
			if s.gone(int32(i), pod, 0) {
				continue
			}
			for _, t := range terms {
				t.add(int32(i), 1)
			}
			r.claims.update(int32(i), pod, 1)
		}
	}
	know := func(pod *snapshot.Pod) {
		r.attract(pod)
		r.antiTerms(s, pod)
		r.claims.counts(pod)
	}
	for i := range evicted {
		know(evicted[i].Pod)
	}
	for _, pod := range s.snapshot.Waiting {
		know(pod)
	}
}

// antiTerms returns the counts of a pod's anti-affinity terms.
func (r *rules) antiTerms(s *simulation, pod *snapshot.Pod) []*antiTerm {
	if pod.Rules == nil {
		return nil
	}
	var out []*antiTerm
	for i := range pod.Rules.AntiAffinity {
		key := antiKey{&pod.Rules.AntiAffinity[i], pod.Namespace}
		t, known := r.terms[key]
		if !known {
			t = &antiTerm{counts: newCounts(r.topology(s, key.term.TopologyKey)), antiKey: key}
			r.terms[key] = t
		}
		out = append(out, t)
	}
	return out
}

// any reports whether a pod without rules can be kept away by those of others.
func (r *rules) any() bool { return len(r.terms) > 0 }

// count returns how many terms, constraints and exclusive claims there are.
func (r *rules) count() int { return len(r.terms) + len(r.shared) + len(r.claims.of) }

func (r *rules) topology(s *simulation, key string) *topology {
	t, known := r.topologies[key]
	if known {
		return t
	}
	t = &topology{of: make([]int32, len(s.places))}
	r.topologies[key] = t
	values := map[string]int32{}
	for i, p := range s.places {
		value, has := p.node.Labels[key]
		if !has {
			t.of[i] = -1
			continue
		}
		n, numbered := values[value]
		if !numbered {
			n = int32(len(values)) //nolint:gosec // There are no more values than nodes.
			values[value] = n
		}
		t.of[i] = n
	}
	t.domains = len(values)
	return t
}

// reset takes back what an order has changed.
func (r *rules) reset() {
	for _, t := range r.terms {
		t.reset()
	}
	for _, c := range r.shared {
		c.reset()
	}
	for _, terms := range r.attracting {
		for _, t := range terms {
			t.reset()
		}
	}
	r.claims.reset()
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (r *rules) update(s *simulation, i int32, o occupant, n int64) {
	times := int32(n) //nolint:gosec // It is 1 or -1.
	s.spreads.update(i, o, times)
	for _, c := range r.selecting(o) {
		c.countMatching(i, o, times)
	}
	if o.rules() != nil {
		for _, t := range r.antiTerms(s, o.pod) {
			t.add(i, times)
		}
		for _, t := range r.attracting[rulesKey{o.pod.Rules, o.pod.Namespace}] {
			t.count(i, times)
		}
	}
	r.claims.update(i, o.pod, times)
}

// selecting returns the counters that select a pod.
func (r *rules) selecting(o occupant) []*counter {
	key := podKey{o.pod.Namespace, pointer(o.pod.Labels)}
	out, known := r.matching[key]
	if !known {
		for _, c := range slices.Concat(r.local[key.namespace], r.anywhere) {
			if c.matches(o) {
				out = append(out, c)
			}
		}
		r.matching[key] = out
	}
	return out
}

// counterKey is what a counter belongs to. It is soft for what pods prefer.
type counterKey struct {
	rules      *snapshot.PodRules
	namespace  string
	kind       kind
	soft       bool
	index      int
	scheduling *snapshot.Scheduling
	// values are those of the labels that a spread constraint takes from the pod.
	values string
}

// counter returns the counter of a term or constraint, and makes it on first need.
func (r *rules) counter(s *simulation, key counterKey, topologyKey string, local bool, eligible func(i int) bool, selects func(o occupant) bool) *counter {
	if c, known := r.shared[key]; known {
		return c
	}
	c := &counter{counts: newCounts(r.topology(s, topologyKey)), selects: selects, known: map[podKey]bool{}}
	if eligible != nil {
		c.eligible = make([]bool, len(s.places))
		for i := range c.eligible {
			c.eligible[i] = eligible(i)
		}
	}
	c.lasting = key.kind == bySpread
	r.shared[key] = c
	clear(r.matching)
	r.index(s)
	if local {
		r.local[key.namespace] = append(r.local[key.namespace], c)
		c.start(r.pods[key.namespace])
	} else {
		r.anywhere = append(r.anywhere, c)
		for _, pods := range r.pods {
			c.start(pods)
		}
	}
	if s.running {
		c.reset()
		s.eachChanged(c.count)
	}
	return c
}

// eachChanged calls do with the pods that an order has put on nodes so far, and with those that it has taken away, for which
// n is -1.
func (s *simulation) eachChanged(do func(i int32, o occupant, n int32)) {
	for k := range s.touched {
		i := s.touched[k].node
		for _, pod := range s.snapshot.Pods[s.places[i].node.Name] {
			if !pod.Completed && !s.gone(i, pod, 0) && (s.gone(i, pod, s.moment) || s.isPreempted[pod]) {
				do(i, occupant{pod: pod}, -1)
			}
		}
		for _, o := range s.now[i].placed {
			if !o.nominee {
				do(i, o, 1)
			}
		}
	}
	if s.early {
		s.eachLeaving(0, func(i int32, pod *snapshot.Pod) { do(i, occupant{pod: pod}, 1) })
	}
	for _, l := range s.lingering {
		if !l.holds {
			do(l.node, l.occupant, 1)
		}
	}
}

// start counts the pods that are there at the first moment.
func (c *counter) start(pods []located) {
	for _, l := range pods {
		c.count(l.node, occupant{pod: l.pod}, 1)
	}
}

// index sorts the pods by namespace once.
func (r *rules) index(s *simulation) {
	if r.pods != nil {
		return
	}
	r.pods = map[string][]located{}
	for i, p := range s.places {
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if !pod.Completed && !s.gone(int32(i), pod, 0) {
				r.pods[pod.Namespace] = append(r.pods[pod.Namespace], located{pod, int32(i)})
			}
		}
	}
}

// namespaceLabels returns the labels of a namespace, none where they were not read.
func (s *simulation) namespaceLabels(name string) labels.Set { return s.snapshot.NamespaceLabels[name] }
