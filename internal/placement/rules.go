// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

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
	// attractions are what pods prefer of others.
	attractions attractions
	shared      map[counterKey]*counter
	// hard is how many of these are not soft.
	hard int
	// matching are the counters that select pods, by what these have in common.
	matching map[podKey][]*counter
	terms    map[antiKey]*antiTerm
	claims   exclusives
	// pods are those of a namespace that count at the first moment, by their labels.
	pods map[string]map[uintptr][]located
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
	r.matching, r.attractions = map[podKey][]*counter{}, attractions{of: map[rulesKey]*attracting{}, local: map[string][]*attractingTerm{}}
	r.claims = newExclusives(s)
	for i, p := range s.places {
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if pod.Completed {
				continue
			}
			if d := s.spreads.find(pod.Controller, false); d != nil && !s.gone(int32(i), pod, 0) {
				d.count(int32(i), occupant{pod: pod}, 1)
			}
			if pod.Rules == nil && len(pod.Claims) == 0 {
				continue
			}
			attracts, terms := r.attractions.note(pod), r.antiTerms(s, pod)
			if s.gone(int32(i), pod, 0) {
				continue
			}
			if attracts != nil {
				attracts.pods = append(attracts.pods, located{pod, int32(i)})
			}
			for _, t := range terms {
				t.add(int32(i), 1)
			}
			r.claims.update(int32(i), pod, 1)
		}
	}
	know := func(pod *snapshot.Pod) {
		r.attractions.note(pod)
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

// relate reports whether there are terms, constraints or exclusive claims that keep pods away from nodes.
func (r *rules) relate() bool { return len(r.terms)+r.hard+len(r.claims.of) > 0 }

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
	r.attractions.reset()
	r.claims.reset()
}

// update counts a pod that comes to a node, or that leaves it where n is -1.
func (r *rules) update(s *simulation, i int32, o occupant, n int64) {
	times := int32(n) //nolint:gosec // It is 1 or -1.
	s.spreads.update(s, i, o, times)
	for _, c := range r.selecting(o) {
		c.countMatching(i, o, times)
	}
	if o.rules() != nil {
		for _, t := range r.antiTerms(s, o.pod) {
			t.add(i, times)
		}
		r.attractions.update(s, i, o, times)
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
	c := &counter{selects: selects, known: map[podKey]bool{}}
	if key.soft {
		c.soft, c.includes = newSoftCounts(r.topology(s, topologyKey)), eligible
	} else {
		c.counts = newCounts(r.topology(s, topologyKey))
		r.hard++
	}
	if eligible != nil && !key.soft {
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
func (c *counter) start(pods map[uintptr][]located) {
	for _, alike := range pods {
		if !c.matches(occupant{pod: alike[0].pod}) {
			continue
		}
		for _, l := range alike {
			c.countMatching(l.node, occupant{pod: l.pod}, 1)
		}
	}
}

// index sorts the pods by namespace and labels once.
func (r *rules) index(s *simulation) {
	if r.pods != nil {
		return
	}
	r.pods = map[string]map[uintptr][]located{}
	for i, p := range s.places {
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if pod.Completed || s.gone(int32(i), pod, 0) {
				continue
			}
			alike := r.pods[pod.Namespace]
			if alike == nil {
				alike = map[uintptr][]located{}
				r.pods[pod.Namespace] = alike
			}
			key := pointer(pod.Labels)
			alike[key] = append(alike[key], located{pod, int32(i)})
		}
	}
}

// namespaceLabels returns the labels of a namespace, none where they were not read.
func (s *simulation) namespaceLabels(name string) labels.Set { return s.snapshot.NamespaceLabels[name] }
