// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// searches remembers what was found out about nodes and about pods that are
// equal in what decides on a node.
type searches struct {
	// places are all nodes, and byName and byLabel lead to them; coming are those that
	// the change brings. They are made when they are needed.
	places  []*place
	coming  []*place
	byName  map[string]*place
	byLabel map[string]map[string][]*place

	lodgings  map[lodgingKey]*lodging
	vacancies map[vacancyKey]*vacancy
	reasons   map[reasonKey]string
	rooms     rooms

	volumeSets map[volumeSet]*volumeSet
	bindings   map[*corev1.NodeSelector]string

	// scratch is a node in the form that node affinity is matched against.
	scratch corev1.Node
}

func newSearches() searches {
	return searches{
		byLabel: map[string]map[string][]*place{}, lodgings: map[lodgingKey]*lodging{}, vacancies: map[vacancyKey]*vacancy{},
		reasons:    map[reasonKey]string{},
		volumeSets: map[volumeSet]*volumeSet{}, bindings: map[*corev1.NodeSelector]string{},
	}
}

// place is a node with its taints after the change.
type place struct {
	node  *Node
	after []corev1.Taint
	// has and cordoned are the node's, repeated here: a long search that reads each node
	// as well takes twice as long.
	has               *Resources
	cordoned, drained bool
	index             int
	// coming is set for a place that the change brings.
	coming *Coming
}

// home says whether any node would take the pod after the change, if it had this
// scheduling and came alone: by its taints, cordon, node selector, required node
// affinity, bound volumes and requests.
func (e *evaluation) home(pod *Pod, s *Scheduling) bool {
	return e.vacancy(pod, s).home()
}

func (v *vacancy) home() bool {
	return v.found || len(v.awaits) > 0
}

type vacancyKey struct {
	lodging *lodging
	demand  *Demand
}

// vacancy is whether any node that would take pods of a scheduling has room for
// pods of a demand, and what the nodes lack where none has.
type vacancy struct {
	vacancyKey
	found   bool
	lacking []lacking
	// awaits is what brings the nodes that would take the pods, where none that is
	// there now would; declined says why others that come would not.
	awaits, declined []string
}

func (e *evaluation) vacancy(pod *Pod, s *Scheduling) *vacancy {
	key := vacancyKey{e.lodging(pod, s), pod.demand()}
	v, known := e.vacancies[key]
	if !known {
		v = &vacancy{vacancyKey: key}
		e.vacancies[key] = v
		if len(s.Forbidden) > 0 {
			return v
		}
		for i := 0; !v.found; i++ {
			p := e.taker(v.lodging, i)
			if p == nil {
				break
			}
			short, lacks := e.lacks(p, v.demand)
			if v.found = !lacks; lacks {
				v.note(short)
			}
		}
		if !v.found {
			e.arrive(v)
		}
	}
	return v
}

type lodgingKey struct {
	scheduling *Scheduling
	volumes    *volumeSet
}

// soon is how many nodes that would take a pod it takes, as a rule, to find one
// with room. A search that goes on will go through all of them.
const soon = 16

// lodging is a search for nodes that would take pods of a scheduling, whatever
// they ask for. It goes only as far as it has to: most pods find a node soon.
type lodging struct {
	constraints []constraint
	tolerations []corev1.Toleration
	// cordon says that a cordon is tolerated.
	cordon bool
	// candidates are the nodes to look at, of which the first next have been.
	// Those that are not among them do not match the first constraint.
	candidates []*place
	next       int
	// takers are those of the candidates that would take the pods, refusals counts the
	// others.
	takers   []int32
	refusals refusals
}

// constraint is something of a pod that only some nodes match.
type constraint struct {
	obstacle obstacle
	matches  func(*Node) bool
	// terms is what it demands, in the form in which it can be looked up.
	terms []corev1.NodeSelectorTerm
}

func (e *evaluation) lodging(pod *Pod, s *Scheduling) *lodging {
	volumes := e.volumes(pod)
	key := lodgingKey{s, e.volumeSet(volumes)}
	found, known := e.lodgings[key]
	if !known {
		found = e.newLodging(s, volumes)
		e.lodgings[key] = found
	}
	return found
}

func (e *evaluation) newLodging(s *Scheduling, volumes []*Volume) *lodging {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	l := &lodging{
		constraints: e.constraints(s, volumes), tolerations: s.Tolerations,
		cordon: taint.FirstMatch(s.Tolerations, cordon, e.comparison == ComparisonOn) >= 0,
	}
	l.candidates = e.allPlaces()
	best := 0
	for i, c := range l.constraints {
		if list, ok := e.lookUp(c.terms); ok && len(list) < len(l.candidates) {
			best, l.candidates = i, list
		}
	}
	if best > 0 {
		// A node that is not among the candidates is to be refused for the same
		// reason as in a search through all of them.
		l.constraints[0], l.constraints[best] = l.constraints[best], l.constraints[0]
	}
	return l
}

// constraints lists what a node has to match for pods of a scheduling with these
// volumes. An affinity that does not parse matches nothing, as in the scheduler.
func (e *evaluation) constraints(s *Scheduling, volumes []*Volume) []constraint {
	var out []constraint
	for i, v := range volumes {
		out = append(out, constraint{obstacle{kind: byVolume, volume: i}, e.volumeMatcher(v.Affinity), volumeTerms(v.Affinity)})
	}
	matcher := func(required nodeaffinity.RequiredNodeAffinity) func(*Node) bool {
		return func(n *Node) bool {
			e.scratch.Name, e.scratch.Labels = n.Name, n.Labels
			ok, err := required.Match(&e.scratch)
			return ok && err == nil
		}
	}
	if len(s.NodeSelector) > 0 {
		var term corev1.NodeSelectorTerm
		for key, value := range s.NodeSelector {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
		}
		out = append(out, constraint{obstacle{kind: bySelector}, matcher(nodeaffinity.NewRequiredNodeAffinity(s.NodeSelector, nil)), []corev1.NodeSelectorTerm{term}})
	}
	if s.Affinity != nil {
		var matches func(*Node) bool
		if name, bound := boundTo(s.Affinity); bound {
			matches = func(n *Node) bool { return n.Name == name }
		} else {
			matches = matcher(nodeaffinity.NewRequiredNodeAffinity(nil, nodeAffinity(s.Affinity)))
		}
		out = append(out, constraint{obstacle{kind: byAffinity}, matches, s.Affinity.NodeSelectorTerms})
	}
	return out
}

// boundTo returns the one node that an affinity allows by name and nothing else, as the
// DaemonSet controller writes it for each of its pods: to parse all of these is a third
// of what verdicts allocate.
func boundTo(required *corev1.NodeSelector) (name string, bound bool) {
	if len(required.NodeSelectorTerms) != 1 {
		return "", false
	}
	term := &required.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return "", false
	}
	r := &term.MatchFields[0]
	if r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn || len(r.Values) != 1 {
		return "", false
	}
	return r.Values[0], true
}

// taker returns the node that would take the pods after n others, nil for none.
func (e *evaluation) taker(l *lodging, n int) *place {
	for len(l.takers) <= n && l.next < len(l.candidates) {
		p := l.candidates[l.next]
		l.next++
		o, refuses := e.refuses(l, p)
		if refuses {
			l.refusals.add(o)
			continue
		}
		if len(l.takers) == soon {
			l.takers = slices.Grow(l.takers, len(l.candidates)-l.next+1)
		}
		l.takers = append(l.takers, int32(l.next-1)) //nolint:gosec // A cluster has no two thousand million nodes.
	}
	if n < len(l.takers) {
		return l.candidates[l.takers[n]]
	}
	return nil
}

// refuses returns what keeps pods of a scheduling away from a node, whatever
// they ask for: first what it would take another node to change, then what was
// done to this one.
func (e *evaluation) refuses(l *lodging, p *place) (obstacle, bool) {
	for i := range l.constraints {
		if !l.constraints[i].matches(p.node) {
			return l.constraints[i].obstacle, true
		}
	}
	switch {
	case p.drained:
		return obstacle{kind: byDrain}, true
	case p.cordoned && !l.cordon:
		return obstacle{kind: byCordon}, true
	}
	if away := keepsAway(l.tolerations, p.after, e.comparison == ComparisonOn); away != nil {
		return obstacle{kind: byTaint, key: away.Key, value: away.Value, effect: away.Effect}, true
	}
	return obstacle{}, false
}

// allPlaces collects the nodes on first need, in no order.
func (e *evaluation) allPlaces() []*place {
	if e.places == nil {
		places := make([]place, 0, len(e.snapshot.Nodes))
		e.places, e.byName = make([]*place, 0, len(e.snapshot.Nodes)), make(map[string]*place, len(e.snapshot.Nodes))
		for _, n := range e.snapshot.Nodes {
			_, after := e.taints(n.Name)
			if labels, changed := e.change.Labels[n.Name]; changed {
				relabelled := *n
				relabelled.Labels, n = labels, &relabelled
			}
			places = append(places, place{
				node: n, after: after, has: n.Allocatable, cordoned: n.Unschedulable,
				drained: e.change.Drains[n.Name] || e.change.Closed[n.Name], index: len(places),
			})
			p := &places[len(places)-1]
			e.places, e.byName[n.Name] = append(e.places, p), p
		}
	}
	return e.places
}

// lookUp returns the only nodes that terms can allow, where each of them names
// nodes or values of a label. The DaemonSet controller binds each pod to its node
// in this way, as local volumes do: to look at every node for every one of them
// would cost their product.
func (e *evaluation) lookUp(terms []corev1.NodeSelectorTerm) ([]*place, bool) {
	if len(terms) == 0 {
		return nil, false
	}
	var out []*place
	for i := range terms {
		fewest, ok := e.lookUpTerm(&terms[i])
		if !ok {
			return nil, false
		}
		if len(terms) == 1 {
			return fewest, true
		}
		out = append(out, fewest...)
	}
	slices.SortFunc(out, func(a, b *place) int { return a.index - b.index })
	return slices.Compact(out), true
}

// lookUpTerm takes the requirement of a term that allows the fewest nodes: all
// of them have to be met.
func (e *evaluation) lookUpTerm(term *corev1.NodeSelectorTerm) (fewest []*place, ok bool) {
	offer := func(list []*place) {
		if !ok || len(list) < len(fewest) {
			fewest, ok = list, true
		}
	}
	for i := range term.MatchFields {
		if r := &term.MatchFields[i]; r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn {
			offer(union(e.byName, r.Values))
		}
	}
	if ok {
		return fewest, true
	}
	for i := range term.MatchExpressions {
		if r := &term.MatchExpressions[i]; r.Operator == corev1.NodeSelectorOpIn {
			values := e.labelled(r.Key)
			if len(r.Values) == 1 {
				offer(values[r.Values[0]])
				continue
			}
			var list []*place
			for _, value := range r.Values {
				list = append(list, values[value]...)
			}
			offer(list)
		}
	}
	return fewest, ok
}

func union(places map[string]*place, names []string) []*place {
	var out []*place
	for _, name := range names {
		if p, there := places[name]; there {
			out = append(out, p)
		}
	}
	return out
}

// labelled returns the nodes that have a label, by its values.
func (e *evaluation) labelled(key string) map[string][]*place {
	values, known := e.byLabel[key]
	if !known {
		values = map[string][]*place{}
		for _, p := range e.allPlaces() {
			if value, has := p.node.Labels[key]; has {
				values[value] = append(values[value], p)
			}
		}
		e.byLabel[key] = values
	}
	return values
}
