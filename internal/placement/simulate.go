// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Orders is how many orders a simulation tries by default.
const Orders = 30

// Eviction is a pod that a change evicts, and the pod that its controller creates instead. One that is
// terminating already is not evicted, and no outcome counts it: what its controller creates once it is gone
// takes room.
type Eviction struct {
	Pod *snapshot.Pod
	// After is the delay in seconds, 0 for an immediate eviction.
	After int64
	// Scheduling is that of the pod that is created instead. It is nil where none is: for a bare
	// or completed pod, and for one that its DaemonSet does not recreate.
	Scheduling *snapshot.Scheduling
	// Unread is set beside Unsure for a pod of a Job that was not read: it counts as a victim where preemption evicts it.
	Unread bool
	// Unsure is set where it is not known whether the pod is evicted: it keeps its room in some orders.
	// After does not count.
	Unsure bool
	// Doubtful is set where it is not known whether its controller creates another pod: in some orders it does not, and
	// that pod is not missing.
	Doubtful bool
	// Arrives is set for a pod that replaces none: a DaemonSet creates it, since the change lets it. It takes
	// room, and counts nowhere.
	Arrives bool
	// Elsewhere is set for a pod that another change of the run evicts: what replaces it takes room, and counts
	// among the Others alone.
	Elsewhere bool
	// Awaited is set beside it where a node that the other change brings takes what replaces it: then it is not missing.
	Awaited bool
	// Surplus is set for a pod that replaces none yet: a rollout creates it beside the old ones. It counts like the others.
	Surplus bool
	// Next is set where the new pod is one of a new template: that of a Deployment belongs to another ReplicaSet.
	Next bool
	// Ended is set for a pod that has terminated at its moment: it keeps no room from others.
	Ended bool
	// Wait is how many seconds after the eviction the controller creates the other pod, at most, where it does not do so
	// immediately: a pod may be gone before its grace period ends.
	Wait int64
	// Ordered is set for a pod of a StatefulSet that starts its pods one after the other, PolicyUnknown
	// beside it where it may as well create them in parallel: in some orders it does.
	Ordered, PolicyUnknown bool
}

// Range is a number where Min and Max are equal.
type Range struct{ Min, Max int }

// add extends a range by the count of another order.
func (r *Range) add(n int, first bool) {
	if first {
		*r = Range{n, n}
	}
	r.Min, r.Max = min(r.Min, n), max(r.Max, n)
}

// Plus adds the numbers of another range.
func (r Range) Plus(other Range) Range { return Range{r.Min + other.Min, r.Max + other.Max} }

// Outcome is where the replacements of all evicted pods go, together.
type Outcome struct {
	// Orders is how many orders were tried, of those that are Wanted. Ranges hold what happened in any of them. All
	// count as tried where it is proved that the others come to the same.
	Orders, Wanted int
	// Cut is set where the limit was reached within the first order: pods may be Pending in it that
	// preemption would place.
	Cut bool
	// Workloads are those with evicted or preempted pods, sorted by namespace, kind and name.
	Workloads []WorkloadOutcome
	// Placed, Pending and NotCreated count the replacements of all workloads, Preempted the pods
	// elsewhere that preemption evicts. Missing counts the Pending ones together with those that are
	// not created because an ordered StatefulSet waits, or because admission refuses them: see Refusal.
	// Refused counts the latter alone, and Unplaced the Missing ones without them. Again counts the Placed
	// and the Arriving ones whose node evicts them again, since they tolerate a taint of it for some seconds only, or is drained.
	Placed, Pending, NotCreated, Missing, Refused, Unplaced, Preempted, Again Range
	// Returns is why some of the Again ones return to their nodes in some order.
	Returns
	// Arriving counts the Missing pods that nodes take which the change brings, once these are there, and Staying the others.
	Arriving, Staying Range
	// Lost counts the pods that nothing recreates because of preemption: victims without a controller or with one that may
	// create no others, replacements that Jobs do not create, since these fail by preemption, and the other pods of such
	// Jobs. Deleted counts the latter alone. Gone has all of these pods but for those whose controllers may create others: it
	// is true where a pod is lost in every order. UnreadJobs is set where a Job with preempted pods was not read.
	Lost       Range
	Deleted    Range
	Gone       map[*snapshot.Pod]bool
	UnreadJobs bool
	// Others are the pods that other changes of the run evict.
	Others Others
	// UnmodelledQuotas are the ResourceQuotas, as namespace/name, that may keep replacements away and
	// cannot be judged, UnknownQuotas is set where none were read.
	UnmodelledQuotas []string
	UnknownQuotas    bool
	// UnmodelledRanges and UnknownRanges are the same of LimitRanges.
	UnmodelledRanges []string
	UnknownRanges    bool
	// UnknownClasses is set where new pods name PriorityClasses, and these were not read.
	UnknownClasses bool
	// UnknownVolumeLimits is set where pods have CSI volumes, and limits of these could not be read.
	UnknownVolumeLimits bool
	// UnmodelledStorage names what is not known of the storage that pods need whose claims no volume is bound to.
	UnmodelledStorage []string
	// Victims are the pods that preemption evicts in any order, and those that Jobs delete which fail by that, sorted by
	// namespace and name. Like
	// Preempted, they are without those that it evicts without the change as well.
	Victims []Victim
	// Certain is set where it is proved that every pod finds a node in each order, or in none. Joined outcomes are not.
	Certain bool
	// Unread are the pods that are replaced, in any order, whose Jobs or PriorityClasses were not read, sorted by namespace
	// and name. They include those that are deleted or preempted without the change as well.
	Unread []*snapshot.Pod

	groups map[*snapshot.Pod]*Group
}

// Others is what becomes of the replacements of pods that other changes of the run evict.
type Others struct {
	// Replacements is how many there are.
	Replacements int
	// Missing counts those of them that stay Pending or are not created, and All those of all changes.
	Missing, All Range
	// Before returns what Missing is without this change. It is a simulation of its own.
	Before func() Range
	// Alone is set where the change itself evicts no pod that is replaced.
	Alone bool
}

// Caused is how many more of them are missing because of this change. The ends of the ranges with the change and
// without it are compared: chance may move one end alone. A change that evicts no pod then causes nothing.
func (o Others) Caused() Range {
	if o.Missing.Max == 0 {
		return Range{}
	}
	before := o.Before()
	least, most := max(o.Missing.Min-before.Min, 0), max(o.Missing.Max-before.Max, 0)
	if o.Alone && min(least, most) == 0 {
		return Range{}
	}
	return Range{Min: min(least, most), Max: max(least, most)}
}

// join adds what another step of the same change does. The others are the same.
func (o *Others) join(own, more Range, other Others) {
	switch {
	case o.Replacements+other.Replacements == 0:
	case other.Replacements == 0:
		o.All = o.All.Plus(more)
	case o.Replacements == 0:
		*o, o.All = other, own.Plus(other.All)
	default:
		o.Alone = o.Alone && other.Alone
		if other.Missing.Max > o.Missing.Max {
			o.Missing, o.Before = other.Missing, other.Before
		}
		o.All = own.Plus(more).Plus(o.Missing)
	}
}

// Of returns what becomes of the replacement of an evicted pod, nil where nothing replaces it.
func (o *Outcome) Of(pod *snapshot.Pod) *Group { return o.groups[pod] }

// Join makes one outcome of those of changes that follow each other: what each of them does adds up.
func Join(outcomes ...*Outcome) *Outcome {
	out := &Outcome{groups: map[*snapshot.Pod]*Group{}, Gone: map[*snapshot.Pod]bool{}}
	at := map[snapshot.WorkloadKey]int{}
	for _, o := range outcomes {
		out.fewest(o)
		out.Others.join(out.Staying, o.Staying, o.Others)
		out.Placed, out.Pending, out.NotCreated = out.Placed.Plus(o.Placed), out.Pending.Plus(o.Pending), out.NotCreated.Plus(o.NotCreated)
		out.Missing, out.Preempted = out.Missing.Plus(o.Missing), out.Preempted.Plus(o.Preempted)
		out.Refused, out.Unplaced, out.Again = out.Refused.Plus(o.Refused), out.Unplaced.Plus(o.Unplaced), out.Again.Plus(o.Again)
		out.addReturns(o.Returns)
		out.Arriving, out.Staying = out.Arriving.Plus(o.Arriving), out.Staying.Plus(o.Staying)
		out.Lost, out.Deleted, out.UnreadJobs = out.Lost.Plus(o.Lost), out.Deleted.Plus(o.Deleted), out.UnreadJobs || o.UnreadJobs
		for pod, always := range o.Gone {
			out.Gone[pod] = out.Gone[pod] || always
		}
		out.unmodelled(o)
		out.Victims = append(out.Victims, o.Victims...)
		out.Unread = append(out.Unread, o.Unread...)
		maps.Copy(out.groups, o.groups)
		for i := range o.Workloads {
			if n, known := at[o.Workloads[i].WorkloadKey]; known {
				out.Workloads[n].join(&o.Workloads[i])
				continue
			}
			at[o.Workloads[i].WorkloadKey] = len(out.Workloads)
			out.Workloads = append(out.Workloads, o.Workloads[i])
		}
	}
	return out
}

// unmodelled adds what another outcome does not know.
func (o *Outcome) unmodelled(other *Outcome) {
	o.UnknownQuotas, o.UnknownClasses = o.UnknownQuotas || other.UnknownQuotas, o.UnknownClasses || other.UnknownClasses
	o.UnknownRanges, o.UnknownVolumeLimits = o.UnknownRanges || other.UnknownRanges, o.UnknownVolumeLimits || other.UnknownVolumeLimits
	all := [][]string{other.UnmodelledQuotas, other.UnmodelledRanges, other.UnmodelledStorage}
	for i, list := range []*[]string{&o.UnmodelledQuotas, &o.UnmodelledRanges, &o.UnmodelledStorage} {
		*list = slices.Concat(*list, all[i])
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// fewest notes how many orders were tried for the change that had time for the fewest.
func (o *Outcome) fewest(other *Outcome) {
	o.Cut, o.Wanted = o.Cut || other.Cut, max(o.Wanted, other.Wanted)
	if o.Orders == 0 || other.Orders > 0 && other.Orders < o.Orders {
		o.Orders = other.Orders
	}
}

// Group is what becomes of the replacements of a workload's pods that nothing tells apart, since
// every node answers them in the same way. The pod of an ordered StatefulSet has one of its own.
type Group struct {
	// Fate is Pending where none of them is placed in any order before nodes come, and Fits where all are in every one.
	Fate Fate
	// Reason, Refusal, Awaits and Arriving are as those of a WorkloadOutcome.
	Reason   string
	Refusal  *Refusal
	Awaits   []string
	Arriving Range
	// Staying counts those that find no node, Brought those that are on nodes which the change brings in the end.
	Staying, Brought Range
	// Behind is a pod that is there and not ready: its StatefulSet creates none after it. It is nil
	// where none is.
	Behind *snapshot.Pod
	// PolicyUnknown is set where its StatefulSet does not create it in some order, and would if its
	// podManagementPolicy were Parallel.
	PolicyUnknown bool
	// UnknownVolumes is set where nothing is known of the volumes of a generic ephemeral one.
	UnknownVolumes bool
	// Returns is that of an Outcome.
	Returns

	size, placed, again, lost, arriving, brought int
	all, allAgain, allLost                       Range
}

// Lost is how many of them a Job does not create that fails by preemption, at least and at most.
func (g *Group) Lost() Range { return g.allLost }

// Pending is how many of them are not placed, at least and at most, in the orders that were tried.
func (g *Group) Pending() Range { return Range{Min: g.size - g.all.Max, Max: g.size - g.all.Min} }

// AllAgain reports whether all of them are placed on nodes that evict them again, or that are drained, in every order.
func (g *Group) AllAgain() bool { return g.allAgain.Min == g.size }

// judge gives the group its word, once all orders have been tried.
func (g *Group) judge() {
	switch {
	case g.all.Min == g.size:
		g.Fate = Fits
	case g.all.Max == 0:
		g.Fate = Pending
	default:
		g.Fate = DependsOnOrder
	}
}

// Victim is a pod that the change does not evict, but the preemption by a replacement does.
type Victim struct {
	Pod *snapshot.Pod
	// Owner is the workload that it belongs to, as Snapshot.Owner returns it.
	Owner snapshot.Owner
	// Orders is in how many orders of those that were tried, Of, it is preempted, or deleted by its Job which fails by
	// preemption.
	Orders, Of int
}

// Fate is the word for a workload's replacements.
type Fate string

// Outcomes of the replacements of a workload.
const (
	// Fits: all of them are placed in every order that was tried.
	Fits Fate = "fits"
	// Pending: as many of them are not, in every order that was tried.
	Pending Fate = "pending"
	// DependsOnOrder: how many are not differs.
	DependsOnOrder Fate = "depends_on_order"
)

// WorkloadOutcome is what becomes of the replacements of a workload's pods.
type WorkloadOutcome struct {
	snapshot.WorkloadKey
	// Placed, Pending and NotCreated count the replacements of its evicted and preempted pods. A
	// pod is not created while an ordered StatefulSet waits for the one before it, and where admission refuses it.
	Placed, Pending, NotCreated Range
	// Missing, Refused, Unplaced and Again count as those of an Outcome do.
	Missing, Refused, Unplaced, Again Range
	// Returns is that of an Outcome.
	Returns
	// Lost and Deleted count as those of an Outcome do, JobFails is set where some of them are those of a Job that fails by
	// preemption.
	Lost, Deleted Range
	JobFails      bool
	// AllMissing counts beside the Missing ones the pods that were Pending before and still are: within a workload, which of them finds
	// room is often chance, and their sum is not.
	AllMissing Range
	// Delayed counts those of the placed ones that are Pending until the seconds of other pods
	// have run out, or until pods are gone that are terminating already.
	Delayed Range
	// Moved counts the replacements whose node is drained later in the same rollout, so that they are evicted as well.
	Moved Range
	// Preempted counts its pods that preemption evicts although the change does not.
	Preempted Range
	// Rolled is set for new pods of a rollout: none of its pods is evicted.
	Rolled bool
	// Proved is how many replacements stay Pending whatever the order: pods that fit nowhere even
	// alone, and those beyond what all nodes that take their kind can hold.
	Proved int
	// Reason is why nodes do not take a Pending one, the reason that most nodes give first. Brief is the
	// same in a few words.
	Reason, Brief string
	// Refusal is why one of the Refused is not created, nil where none is.
	Refusal *Refusal
	// Awaits names what brings nodes that would take a Pending one, Arriving and Staying count as those of an Outcome do.
	Awaits            []string
	Arriving, Staying Range
	// PolicyUnknown is set where that of a Group is.
	PolicyUnknown bool
}

// join adds what another change does to the workload.
func (w *WorkloadOutcome) join(other *WorkloadOutcome) {
	w.Placed, w.Pending, w.NotCreated = w.Placed.Plus(other.Placed), w.Pending.Plus(other.Pending), w.NotCreated.Plus(other.NotCreated)
	w.Missing, w.AllMissing, w.Delayed, w.Preempted = w.Missing.Plus(other.Missing), w.AllMissing.Plus(other.AllMissing), w.Delayed.Plus(other.Delayed), w.Preempted.Plus(other.Preempted)
	w.Proved += other.Proved
	w.Moved = w.Moved.Plus(other.Moved)
	w.Arriving, w.Staying = w.Arriving.Plus(other.Arriving), w.Staying.Plus(other.Staying)
	w.PolicyUnknown = w.PolicyUnknown || other.PolicyUnknown
	w.addReturns(other.Returns)
	w.Refused, w.Unplaced, w.Refusal = w.Refused.Plus(other.Refused), w.Unplaced.Plus(other.Unplaced), cmp.Or(w.Refusal, other.Refusal)
	w.Again, w.Lost, w.Deleted, w.JobFails = w.Again.Plus(other.Again), w.Lost.Plus(other.Lost), w.Deleted.Plus(other.Deleted), w.JobFails || other.JobFails
	if w.Reason == "" {
		w.Reason, w.Brief, w.Awaits = other.Reason, other.Brief, other.Awaits
	}
}

// Fate returns the word for the workload's replacements.
func (w *WorkloadOutcome) Fate() Fate {
	switch {
	case w.Missing.Min != w.Missing.Max, w.Lost.Min != w.Lost.Max:
		return DependsOnOrder
	case w.Missing.Max+w.NotCreated.Max > 0:
		return Pending
	default:
		return Fits
	}
}
