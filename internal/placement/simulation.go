// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"maps"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// terminatingGone is when pods that are terminating already count as gone, in seconds: the
// default of terminationGracePeriodSeconds. Their room is not free before.
const terminatingGone = 30

// simulation is what all orders share, and the state of the one that is being tried.
type simulation struct {
	*Finder
	classes map[classKey]*class
	// evicted leads to the moment at which a pod is gone, leaves marks the nodes of such pods.
	evicted map[*snapshot.Pod]int64
	leaves  []bool
	moments []int64
	// overdue are pods that are terminating for longer than they may.
	overdue []*snapshot.Pod
	// unsure are pods that are not evicted, and that may leave their nodes all the same.
	unsure []placedPod
	// undecided are pods that may be evicted or not, isUndecided leads to them.
	undecided   []*undecided
	isUndecided map[*snapshot.Pod]*undecided
	// replacements are the pods to place; those of victims of preemption follow behind the
	// first fixed ones.
	replacements []*replacement
	fixed        int
	// replacing leads from the pods that are evicted, or may be, to what replaces them.
	replacing map[*snapshot.Pod]*replacement
	// nominated are those that had a nominated node before.
	nominated []*replacement
	workloads []*tally
	groups    map[groupKey]*Group
	byKey     map[snapshot.WorkloadKey]int
	sets      map[string]*statefulSet
	rules     rules
	spreads   defaultSpreads
	// podPreferences remembers what pods prefer.
	podPreferences map[preferenceKey]*podPreferences
	// attracted is set where pods to place are attracted by others.
	attracted bool
	quotas    *quotas
	turns     turns
	// attachments are limited by drivers of volumes.
	attachments attachments
	// used is the storage of claims that no volume was bound to.
	used usedStorage
	// unmodelledRanges are the LimitRanges with defaults that differ from those of others.
	unmodelledRanges map[string]bool
	// unknownClasses is set where a new pod's PriorityClass was not read.
	unknownClasses bool
	// unread are the replaced pods of any order whose Job or PriorityClass was not read.
	unread map[*snapshot.Pod]bool
	// preempting is the highest priority of a pod that may preempt others.
	preempting int32
	// lowest is the lowest priority of a pod that is on a node or is to be placed, once it is needed.
	lowest   *int32
	tooLarge tooLarge

	// now is what nodes hold in this order; touched are those that may have held something else at the first moment.
	now     []nodeState
	touched []touched
	// order is the order in which nodes are looked at, next where the next pod begins.
	order []int32
	next  int
	// nodeNames are the numbers that stand for nodes where chance decides.
	nodeNames []uint64
	// ranked are the first fixed replacements in the order of their ranks, in which they are created.
	ranked []*replacement
	chance chance
	queue  queue
	moment int64
	// preempted are the victims of this order that the change does not evict. isPreempted has all of them,
	// and the unsure pods that are gone in this order.
	preempted []*snapshot.Pod
	// deleted are those that Jobs delete in this order which fail by preemption.
	deleted     []*snapshot.Pod
	isPreempted map[*snapshot.Pod]bool
	// victims remembers what replaces victims of any order, unready the pods of each controller that are not
	// ready.
	victims   map[*snapshot.Pod]Eviction
	unready   map[types.UID][]*snapshot.Pod
	budgets   budgets
	running   bool
	evictions []Eviction
	baseline  baseline
	// anyNode is set for an order in which scores do not count, parallel for one in which StatefulSets
	// whose podManagementPolicy is not known create their pods in parallel.
	anyNode, parallel bool
	// unreplaced is set for an order in which controllers do not replace pods that may not replace them.
	unreplaced bool
	failures   failures
	// unfit are the victims whose replacements found no node in the last order that had them.
	unfit map[*snapshot.Pod]bool
	// awaiting are the victims whose replacements waited for a node that came in the last order that had them.
	awaiting map[*snapshot.Pod]bool
	// denials are why the last order that had replacements of victims did not create them.
	denials map[*snapshot.Pod]*Refusal
	// prompt is set for an order in which pods that have waited for room are not tried before those
	// that are created when it becomes free: the scheduler may have put off a retry.
	prompt bool
	// recovers is set for an order in which replacements are ready by the moment after the one at which they are placed.
	recovers bool
	// pace decides which evicted pods take their whole grace periods to end in an order. ahead are the moments that
	// are left of the order: those of all orders, and those at which pods are created whose controllers wait.
	pace  int
	ahead []int64
	// takesTurns is set for an order in which workloads that a quota leaves too little for create their pods in turn.
	takesTurns bool
	// uneven is set where pods to place differ in priority. In some orders those of a moment come in so many waves then, 0 for
	// immediately: wave is the last one that has come.
	uneven      bool
	wave, waves int
	// nominates is set for an order in which a pod that preempts others is not bound before those that are queued have
	// been tried: nominees are these pods.
	nominates bool
	nominees  []*replacement
	// lags is set for an order in which victims have not terminated before the pods that are queued have been tried.
	lags bool
	// lingers is set for an order in which pods that are gone at a moment count for others until these have been tried:
	// lingering are these pods, refills the nodes on which they are in the way of others, nil for none.
	// detaches is set for one of these in which the pods are gone and their volumes are not detached yet.
	lingers   bool
	detaches  bool
	lingering []lingering
	refills   []bool
	// ended are the evicted pods that have terminated at their moments.
	ended map[*snapshot.Pod]bool
	// early is set while Pending pods are placed before the first pods are evicted.
	early bool
	// freed counts how often room became free: a pod that found none finds none before.
	freed int
	// ephemeral are the evicted pods that have generic ephemeral volumes.
	ephemeral []*snapshot.Pod
	// claimsLate is set for an order in which new pods are first tried before their ephemeral claims are there: unclaimed are
	// those that are tried again behind the others.
	claimsLate bool
	unclaimed  []*replacement
	// scoresStorage is set for orders in which VolumeBinding scores nodes, as it does from Kubernetes 1.37 on.
	scoresStorage bool
	// vacated is set once pods are preempted.
	vacated bool
	// stages are when nodes come and go.
	stages stages
	// returned is set once Jobs have failed by preemption, roomier once victims have terminated.
	returned, roomier bool
	effort
	// proved is set where it is proved what each order comes to, allFit where that is a node for each pod.
	proved, allFit bool
	// takers, best, weights, seen and lower are used anew for each pod.
	takers  []rated
	best    []int32
	weights []float64
	// scored is how many nodes the scheduler would score for the pod.
	scored int
	seen   []bool
	lower  []occupant
}

// replacement is a pod to place.
type replacement struct {
	// pod is the one that it replaces, or that waits itself.
	pod   *snapshot.Pod
	class *class
	// prefers is what it prefers nodes by, of the pods that run there. Next is set for a pod of a new template.
	prefers *podPreferences
	next    bool
	// waiting is set for a pod that was Pending before the change.
	waiting bool
	// after is the moment at which its controller creates it, evicted that at which the pod is evicted that it replaces, wait
	// how long its controller waits in between in some orders. planned is the moment of the change's eviction: preemption may be
	// earlier.
	after, evicted, planned, wait int64
	// name is the number that stands for the pod where chance decides.
	name uint64
	// undecided is set where it is not known whether the pod that it replaces is evicted, successor for one
	// that is created instead of a pod that is terminating already, absent in orders in which it is not.
	// perhaps is set for one that its controller may not create, fits where the last order that had it has placed it.
	undecided, successor, absent, perhaps, fits bool
	// wave is the one in which it comes, in orders in which pods come in waves.
	wave int
	// ended is set once its Job has failed by preemption, claimed once its ephemeral claims are awaited.
	ended, claimed bool
	// elsewhere is set where another change of the run evicts the pod that it replaces, awaited where that brings its node.
	elsewhere, awaited bool
	workload           int
	since              int64
	// rank is its place in the queue among pods of equal priority.
	rank int
	set  *statefulSet
	// group is nil for one that waits, and for one that replaces a victim of preemption.
	group *Group
	// ordinal is that within the set.
	ordinal int
	// node is where it is placed, -1 for nowhere. It is a nominee there while the pods terminate that it has preempted.
	node    int32
	nominee bool
	// nominations counts how often it has preempted others and was bound later.
	nominations int
	// yielded is set for a nominee that another pod has not seen, until it is tried again.
	yielded bool
	// created is set once its controller has created it, at the moment since.
	created bool
	// bound is the moment at which it was put on its node, brought is set for a node that comes, arrived where it was missing until
	// then. Moves is how often the node was drained later on, and it was created anew.
	bound            int64
	brought, arrived bool
	moves            int
	// refused is why admission refuses it, so that it is not created, nil where nothing does.
	refused *Refusal
	// denied is why the last order that had it did not create it.
	denied *Refusal
	// delayed is set for one that was placed at a later moment, deleted for one without a controller that was
	// preempted.
	delayed, deleted bool
	// binding is what it has used of the storage.
	binding binding
}

// foreign reports whether another scheduler places a pod that was Pending before: it may take room first, or none, and the
// default scheduler preempts no pods for it (k8s.io/kubernetes v1.37.2 pkg/scheduler/eventhandlers.go, responsibleForPod).
func (r *replacement) foreign() bool { return r.waiting && r.class.demand.Scheduler != "" }

func (r *replacement) notCreated() bool { return r.node < 0 && !r.created }

// newSimulation prepares what all orders share.
func newSimulation(f *Finder, evicted []Eviction) *simulation {
	f.allPlaces()
	s := &simulation{
		Finder: f, effort: effort{limit: workLimit}, classes: map[classKey]*class{}, tooLarge: tooLarge{classes: map[*nodeSearch][]*class{}}, evicted: make(map[*snapshot.Pod]int64, len(evicted)), leaves: make([]bool, len(f.places)),
		byKey: map[snapshot.WorkloadKey]int{}, groups: map[groupKey]*Group{}, sets: map[string]*statefulSet{}, isPreempted: map[*snapshot.Pod]bool{}, victims: map[*snapshot.Pod]Eviction{}, unfit: map[*snapshot.Pod]bool{}, awaiting: map[*snapshot.Pod]bool{}, denials: map[*snapshot.Pod]*Refusal{}, failures: newFailures(), unread: map[*snapshot.Pod]bool{}, isUndecided: map[*snapshot.Pod]*undecided{}, ended: map[*snapshot.Pod]bool{}, replacing: make(map[*snapshot.Pod]*replacement, len(evicted)), podPreferences: map[preferenceKey]*podPreferences{}, rules: rules{topologies: map[string]*topology{}}, unmodelledRanges: map[string]bool{},
		now: make([]nodeState, len(f.places)), order: make([]int32, len(f.places)), nodeNames: make([]uint64, len(f.places)), evictions: evicted,
	}
	s.attachments = newAttachments(s.snapshot, evicted)
	for i, p := range s.places {
		s.nodeNames[i] = nameOf(p.node.Name)
	}
	for i := range evicted {
		s.depart(&evicted[i])
		if pod := evicted[i].Pod; pod.Ephemeral {
			s.ephemeral = append(s.ephemeral, pod)
		}
	}
	s.terminate()
	s.stages.init(s)
	s.doubt()
	s.moments = slices.Sorted(maps.Keys(s.momentSet()))
	s.quotas = newQuotas(s)
	s.spreads.init(s, evicted)
	s.rules.init(s, evicted)
	for i := range evicted {
		s.replace(&evicted[i])
	}
	for _, pod := range s.snapshot.Waiting {
		s.wait(pod)
	}
	s.await()
	s.sortNominated()
	s.fixed = len(s.replacements)
	s.attracted = slices.ContainsFunc(s.replacements, func(r *replacement) bool { return len(r.prefers.attractions) > 0 })
	s.preempting, s.uneven = s.mostPreempting(), s.differInPriority()
	s.turns = newTurns(s)
	s.findRefills()
	return s
}

// workload returns the number of a pod's workload.
func (s *simulation) workload(pod *snapshot.Pod) int {
	key := snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: s.snapshot.Owner(pod)}
	if key.Kind == "" {
		key.Owner = snapshot.Owner{Kind: "Pod", Name: pod.Name}
	}
	n, known := s.byKey[key]
	if !known {
		n = len(s.workloads)
		s.byKey[key] = n
		s.workloads = append(s.workloads, &tally{WorkloadOutcome: WorkloadOutcome{WorkloadKey: key}})
	}
	return n
}

// replace adds the pod that is created instead of an evicted one.
func (s *simulation) replace(e *Eviction) {
	if e.Scheduling == nil {
		return
	}
	r := &replacement{pod: e.Pod, prefers: s.prefers(e.Pod, e.Scheduling, e.Next), next: e.Next, class: s.classOf(e.Pod, e.Scheduling, s.admitted(e.Pod).demand), after: e.gone(), evicted: e.gone(), planned: e.gone(), wait: e.wait(), workload: s.workload(e.Pod), node: -1, waiting: e.Arrives, perhaps: e.Doubtful, fits: true, name: nameOfPod(e.Pod)}
	if e.Ordered && e.Pod.Controller != nil {
		if s.enlist(r); r.set != nil {
			r.set.policyUnknown = e.PolicyUnknown
		}
	}
	if one := s.isUndecided[e.Pod]; one != nil {
		one.replacement, r.undecided = r, true
	}
	r.elsewhere, r.awaited = e.Elsewhere, e.Awaited
	if !e.Arrives && !e.Surplus {
		s.replacing[e.Pod] = r
	}
	if r.successor = e.successor(); !r.successor && !e.Arrives && !e.Elsewhere {
		s.join(r)
	}
	s.replacements = append(s.replacements, r)
}

// groupKey is what replacements have in common that nothing tells apart.
type groupKey struct {
	workload int
	class    *class
	set      *statefulSet
	ordinal  int
	// undecided are told apart: they are evicted in some orders only.
	undecided bool
}

// join adds a replacement to its group.
func (s *simulation) join(r *replacement) {
	key := groupKey{r.workload, r.class, r.set, r.ordinal, r.undecided}
	if s.groups[key] == nil {
		s.groups[key] = &Group{}
	}
	r.group = s.groups[key]
	r.group.size++
}

// wait adds a pod that was Pending before the change. One that no scheduler may place yet does
// not compete, nor does one that is deleted.
func (s *simulation) wait(pod *snapshot.Pod) {
	if _, deleted := s.evicted[pod]; deleted || pod.Terminating || pod.Completed || pod.Gated {
		return
	}
	r := &replacement{pod: pod, prefers: s.prefers(pod, pod.Scheduling, false), class: s.classOf(pod, pod.Scheduling, pod.Requests()), waiting: true, workload: s.workload(pod), node: -1, after: math.MinInt64, evicted: math.MinInt64, planned: math.MinInt64, name: nameOfPod(pod), perhaps: s.isUndecided[pod] != nil}
	if pod.Controller != nil && s.sets[string(pod.Controller.UID)] != nil {
		s.enlist(r)
	}
	s.replacements = append(s.replacements, r)
}

// create queues a pod, unless its StatefulSet waits for the one before it, or its namespace
// forbids it, a LimitRange refuses it, its PriorityClass is gone or no quota is left for it.
func (s *simulation) create(r *replacement) {
	if r.class.forbidden != nil {
		if !r.waiting {
			r.refused = r.class.forbidden
		}
		return
	}
	if s.withheld(r) {
		return
	}
	if !r.created {
		if !r.waiting {
			if r.refused = s.refuse(r.pod); r.refused != nil {
				return
			}
		}
		if r.created, r.since = true, s.moment; r.successor && s.prompt {
			r.since = 0
		}
	}
	s.enqueue(r)
}

// withheld reports whether a pod is not created now, or in no case in this order.
func (s *simulation) withheld(r *replacement) bool {
	return r.absent || r.ended || s.stages.late && r.waiting || s.early && r.after >= 0 || !r.created && (!r.waiting && s.turns.held[r.workload] || s.awaitsWave(r) || s.waits(r))
}
