// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Scenario is what is different from the snapshot by the time the pods look for nodes.
type Scenario struct {
	// Taints holds, by node, the whole list as it will be.
	Taints map[string][]corev1.Taint
	// Labels holds, by node, all labels as they will be.
	Labels map[string]map[string]string
	// Drained holds the nodes that are cordoned and drained: they take only pods that tolerate the
	// taint of a cordon. Closed holds those that will be deleted: they take none.
	Drained, Closed map[string]bool
	// Deleted holds those of them that are gone once all pods are evicted, as far as it is known what comes in their place.
	Deleted map[string]bool
	// Turns holds, by node, after how many turns of a rollout it is drained and deleted, none for the first turn.
	Turns map[string]int
	// Comes are the nodes that the change brings, one for each kind.
	Comes []Coming
	// Leaving returns which pods of a node do not keep their place on it, nil where all of
	// them do. It is called once for each count of a node's pods; nil means that all pods
	// of all nodes keep their places.
	Leaving func(node string) func(*snapshot.Pod) bool
	// Replaced returns the eviction of a pod that preemption evicts, with what its controller creates instead. nil
	// means that all of them are replaced as they are, one independently of the other.
	Replaced func(*snapshot.Pod) Eviction
	// Ends returns what becomes of the Job of a pod when preemption evicts so many pods of it beside those that the
	// change evicts. nil means that no Job fails.
	Ends func(pod *snapshot.Pod, preempted int) Ending
	// Before is what other changes of the run do without this one. nil means that they do nothing, and that what replaces
	// victims is the same.
	Before *Scenario
}

// Placement is where a pod that replaces another one fits.
type Placement struct {
	// Found is false where no node would take it, even if it came alone.
	Found bool
	// Obstacles names what keeps it away from the nodes but its own, where none
	// would take it.
	Obstacles string
}

// Finder finds nodes for pods, and remembers what it has found out about nodes and about
// pods that are equal in what decides on a node.
type Finder struct {
	snapshot *snapshot.Snapshot
	change   Scenario
	// comparison is set where the feature gate TaintTolerationComparisonOperators counts
	// as on.
	comparison bool

	// places are all nodes, behind those that are there those that the change brings: there is how many of the first there are,
	// kinds has the first one of each kind of the others. byName and byLabel lead to them. They are made when they are needed.
	places  []*place
	there   int
	kinds   []*place
	byName  map[string]*place
	byLabel map[string]map[string][]*place

	searches map[searchKey]*nodeSearch
	results  map[resultKey]*Result
	reasons  map[reasonKey]string
	// admissions are what LimitRanges and PriorityClasses make of new pods.
	admissions map[demandIn]*admitted
	rooms      rooms
	storage    storage

	volumeSets map[volumeSet]*volumeSet
	bindings   map[location]string
	required   map[*snapshot.Scheduling]nodeaffinity.RequiredNodeAffinity

	// scratch is a node in the form that node affinity is matched against.
	scratch corev1.Node
}

// New returns a finder for the nodes of a snapshot as they are after a change. The last
// argument is whether the feature gate TaintTolerationComparisonOperators counts as on.
func New(s *snapshot.Snapshot, change Scenario, comparison bool) *Finder {
	return &Finder{
		snapshot: s, change: change, comparison: comparison,
		byLabel: map[string]map[string][]*place{}, searches: map[searchKey]*nodeSearch{}, results: map[resultKey]*Result{},
		reasons: map[reasonKey]string{}, admissions: map[demandIn]*admitted{}, storage: newStorage(),
		volumeSets: map[volumeSet]*volumeSet{}, bindings: map[location]string{},
		required: map[*snapshot.Scheduling]nodeaffinity.RequiredNodeAffinity{},
	}
}

// place is a node with its taints after the change.
type place struct {
	node  *snapshot.Node
	after []corev1.Taint
	// soft are those of them with the effect PreferNoSchedule.
	soft []corev1.Taint
	// has and cordoned are the node's, repeated here: a long search that reads each node
	// as well takes twice as long.
	has *snapshot.Resources
	// cordoned and drained keep pods away that do not tolerate a cordon, closed keeps all away.
	cordoned, drained, closed bool
	// deleted is set beside drained for a node that is deleted once it is drained, turn is the one in which that happens.
	deleted bool
	turn    int
	index   int
	// limits are how many volumes of CSI drivers it can attach.
	limits []volumeLimit
	// coming is set for a place that the change brings, in its turn.
	coming *Coming
}

// Fits reports whether any node would take the pod after the change, if it had this
// scheduling and came alone: by its taints, cordon, node selector, required node
// affinity, volumes and requests.
func (f *Finder) Fits(pod *snapshot.Pod, s *snapshot.Scheduling) bool {
	return f.Find(pod, s).Fits()
}

// Takes reports whether any node would take the pod after the change, as Fits does, however little room is left.
func (f *Finder) Takes(pod *snapshot.Pod, s *snapshot.Scheduling) bool {
	return f.taker(f.search(pod, s), 0) != nil
}

type resultKey struct {
	search *nodeSearch
	demand *snapshot.Demand
}

// Result is whether any node that would take pods of a scheduling has room for
// pods of a demand, and what the nodes lack where none has.
type Result struct {
	resultKey
	found   bool
	lacking []lacking
	// Awaits names what brings the nodes that would take the pods, where none that is
	// there now would.
	Awaits []string
}

// Fits reports whether any node would take such a pod, one that the change brings included.
func (v *Result) Fits() bool {
	return v.found || len(v.Awaits) > 0
}

// Find looks for a node for the pod, if it had this scheduling and came alone. A scheduling
// with tolerations that its namespace forbids fits nowhere: no such pod is made.
func (f *Finder) Find(pod *snapshot.Pod, s *snapshot.Scheduling) *Result {
	key := resultKey{f.search(pod, s), f.admitted(pod).demand}
	v, known := f.results[key]
	if !known {
		v = &Result{resultKey: key}
		f.results[key] = v
		if len(s.Forbidden) > 0 {
			return v
		}
		for i := 0; !v.found; i++ {
			p := f.taker(v.search, i)
			if p == nil {
				break
			}
			short, lacks := f.lacks(p, v.demand)
			if v.found = !lacks; lacks {
				v.note(short)
			}
		}
		if !v.found {
			v.Awaits, _ = f.arrive(v.search, v.demand)
		}
	}
	return v
}

type searchKey struct {
	scheduling *snapshot.Scheduling
	volumes    *volumeSet
	open       *openClaims
}

// soon is how many nodes that would take a pod it takes, as a rule, to find one
// with room. A search that goes on will go through all of them.
const soon = 16

// nodeSearch is a search for nodes that would take pods of a scheduling, whatever
// they ask for. It goes only as far as it must: most pods find a node soon.
type nodeSearch struct {
	constraints []constraint
	tolerations []corev1.Toleration
	// cordon reports that a cordon is tolerated.
	cordon bool
	// open are the claims that no volume is bound to.
	open *openClaims
	// candidates are the nodes to look at, of which the first next have been.
	// Those that are not among them do not match the first constraint.
	// Of those that are there are so many among them.
	candidates []*place
	there      int
	next       int
	// takers are those of the candidates that would take the pods, refusals counts the
	// others.
	takers   []int32
	refusals refusals
	// static remembers, by node, whether a simulation has seen it refuse such pods.
	static []staticResult
	// untolerated remembers, by node, how many soft taints the pods do not tolerate, and 1 more.
	untolerated []uint8
	// preferred is the preferred node affinity, preferences what is made of it when it is first needed.
	preferred   []corev1.PreferredSchedulingTerm
	preferences *nodePreferences
}

func (f *Finder) search(pod *snapshot.Pod, s *snapshot.Scheduling) *nodeSearch {
	volumes := f.snapshot.VolumesOf(pod)
	key := searchKey{s, f.volumeSet(volumes), f.openClaims(pod)}
	found, known := f.searches[key]
	if !known {
		found = f.newSearch(s, volumes)
		found.open = key.open
		f.searches[key] = found
	}
	return found
}

func (f *Finder) newSearch(s *snapshot.Scheduling, volumes []*snapshot.Volume) *nodeSearch {
	l := &nodeSearch{constraints: f.constraints(s, volumes), tolerations: s.Tolerations, cordon: s.ToleratesCordon(f.comparison), preferred: s.Preferred}
	l.candidates = f.allPlaces()
	best := 0
	for i, c := range l.constraints {
		if list, ok := f.lookUp(c.terms); ok && len(list) < len(l.candidates) {
			best, l.candidates = i, list
		}
	}
	if best > 0 {
		// A node that is not among the candidates is to be refused for the same
		// reason as in a search through all of them.
		l.constraints[0], l.constraints[best] = l.constraints[best], l.constraints[0]
	}
	l.sort(len(f.kinds) > 0)
	return l
}

// sort puts the nodes that come, if any do, behind those that are there.
func (l *nodeSearch) sort(some bool) {
	comes := func(p *place) bool { return p.coming != nil }
	isThere := func(p *place) bool { return p.coming == nil }
	l.there = len(l.candidates)
	if !some {
		return
	}
	first := slices.IndexFunc(l.candidates, comes)
	switch {
	case first < 0:
	case !slices.ContainsFunc(l.candidates[first:], isThere):
		l.there = first
	default:
		sorted := slices.DeleteFunc(slices.Clone(l.candidates), comes)
		l.there = len(sorted)
		l.candidates = append(sorted, slices.DeleteFunc(slices.Clone(l.candidates), isThere)...)
	}
}

// taker returns the node that would take the pods after n others, nil for none. Nodes that come are not among them.
func (f *Finder) taker(l *nodeSearch, n int) *place {
	for len(l.takers) <= n && l.next < l.there {
		p := l.candidates[l.next]
		l.next++
		o, refuses := f.refuses(l, p)
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
func (f *Finder) refuses(l *nodeSearch, p *place) (obstacle, bool) {
	for i := range l.constraints {
		if !l.constraints[i].matches(p.node) {
			return l.constraints[i].obstacle, true
		}
	}
	if o, lacks := f.lacksStorage(l.open, p); lacks {
		return o, true
	}
	switch {
	case p.closed, p.drained && !l.cordon:
		return obstacle{kind: byDrain}, true
	case p.cordoned && !l.cordon:
		return obstacle{kind: byCordon}, true
	}
	if away := UntoleratedTaint(l.tolerations, p.after, f.comparison); away != nil {
		return obstacle{kind: byTaint, key: away.Key, value: away.Value, effect: away.Effect}, true
	}
	return obstacle{}, false
}
