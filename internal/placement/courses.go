// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Through returns the outcome of a course of events: each of the outcomes is that of a longer part of it, from its beginning on.
// Pods that are preempted or lost in a part are so in the end, and where pods are counts in the end alone.
func Through(parts ...*Outcome) *Outcome {
	return combine(parts, ranging{
		happens: func(a, b Range) Range { return Range{max(a.Min, b.Min), max(a.Max, b.Max)} },
		ends:    func(_, b Range) Range { return b },
	}, func(a, b bool) bool { return a || b })
}

// ranging combines two ranges: of how many pods something happens to, and of how many end somewhere.
type ranging struct{ happens, ends func(a, b Range) Range }

// Either returns the outcome of one of several courses of events, whichever comes about.
func Either(courses ...*Outcome) *Outcome {
	widest := func(a, b Range) Range { return Range{min(a.Min, b.Min), max(a.Max, b.Max)} }
	return combine(courses, ranging{widest, widest}, func(a, b bool) bool { return a && b })
}

// combine combines outcomes of the same pods: their ranges, and what happens in each order of them.
func combine(all []*Outcome, ranges ranging, certain func(a, b bool) bool) *Outcome {
	out := &Outcome{Gone: map[*snapshot.Pod]bool{}}
	for i, o := range all {
		if i == 0 {
			out.Preempted, out.Lost, out.Deleted = o.Preempted, o.Lost, o.Deleted
		}
		out.fewest(o)
		out.Preempted, out.Lost, out.Deleted = ranges.happens(out.Preempted, o.Preempted), ranges.happens(out.Lost, o.Lost), ranges.happens(out.Deleted, o.Deleted)
		out.UnreadJobs = out.UnreadJobs || o.UnreadJobs
		out.addReturns(o.Returns)
		out.Unread = slices.Concat(out.Unread, o.Unread)
		out.unmodelled(o)
		for pod := range o.Gone {
			out.Gone[pod] = false
		}
	}
	for pod := range out.Gone {
		gone := all[0].Gone[pod]
		for _, o := range all[1:] {
			gone = certain(gone, o.Gone[pod])
		}
		out.Gone[pod] = gone
	}
	slices.SortFunc(out.Unread, (*snapshot.Pod).Compare)
	out.Unread = slices.Compact(out.Unread)
	out.Victims, out.Workloads = anyVictims(all, certain), anyWorkloads(all, ranges)
	out.count()
	return out
}

// anyVictims returns the victims of any of the outcomes. One is certain where it is by what is certain of the outcomes.
func anyVictims(all []*Outcome, certain func(a, b bool) bool) (out []Victim) {
	find := func(o *Outcome, pod *snapshot.Pod) *Victim {
		if at := slices.IndexFunc(o.Victims, func(v Victim) bool { return v.Pod == pod }); at >= 0 {
			return &o.Victims[at]
		}
		return &Victim{Of: 1}
	}
	for _, o := range all {
		for _, v := range o.Victims {
			if slices.ContainsFunc(out, func(known Victim) bool { return known.Pod == v.Pod }) {
				continue
			}
			first := find(all[0], v.Pod)
			sure := first.Orders == first.Of
			for _, other := range all[1:] {
				one := find(other, v.Pod)
				sure = certain(sure, one.Orders == one.Of)
			}
			if v.Orders, v.Of = 1, 2; sure {
				v.Of = 1
			}
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b Victim) int { return a.Pod.Compare(b.Pod) })
	return out
}

// anyWorkloads returns the workloads of any of the outcomes.
func anyWorkloads(all []*Outcome, ranges ranging) (out []WorkloadOutcome) {
	at := map[snapshot.WorkloadKey]int{}
	for n, o := range all {
		seen := map[int]bool{}
		for i := range o.Workloads {
			w := o.Workloads[i]
			k, known := at[w.WorkloadKey]
			if !known {
				k = len(out)
				at[w.WorkloadKey], out = k, append(out, w)
				if n == 0 {
					seen[k] = true
					continue
				}
				// The outcomes before have none of its pods.
				out[k].each(&WorkloadOutcome{}, ranges)
			}
			out[k].each(&w, ranges)
			seen[k] = true
			if out[k].Reason == "" {
				out[k].Reason, out[k].Brief, out[k].Awaits = w.Reason, w.Brief, w.Awaits
			}
		}
		for k := range out {
			if !seen[k] {
				out[k].each(&WorkloadOutcome{}, ranges)
			}
		}
	}
	slices.SortFunc(out, func(a, b WorkloadOutcome) int { return a.Compare(b.WorkloadKey) })
	return out
}

// each combines what becomes of the workload with another outcome of it.
func (w *WorkloadOutcome) each(other *WorkloadOutcome, ranges ranging) {
	for i, r := range w.happened() {
		*r = ranges.happens(*r, *other.happened()[i])
	}
	for i, r := range w.ended() {
		*r = ranges.ends(*r, *other.ended()[i])
	}
	w.Refusal = cmp.Or(w.Refusal, other.Refusal)
	w.JobFails, w.PolicyUnknown = w.JobFails || other.JobFails, w.PolicyUnknown || other.PolicyUnknown
	w.addReturns(other.Returns)
}

func (w *WorkloadOutcome) happened() []*Range { return []*Range{&w.Lost, &w.Deleted, &w.Preempted} }

func (w *WorkloadOutcome) ended() []*Range {
	return []*Range{&w.Placed, &w.Pending, &w.NotCreated, &w.Missing, &w.Refused, &w.Unplaced, &w.Again, &w.AllMissing, &w.Delayed, &w.Moved, &w.Arriving, &w.Staying}
}

// count adds up what the workloads come to.
func (o *Outcome) count() {
	o.Placed, o.Pending, o.NotCreated, o.Missing = Range{}, Range{}, Range{}, Range{}
	o.Refused, o.Unplaced, o.Again, o.Arriving, o.Staying = Range{}, Range{}, Range{}, Range{}, Range{}
	for i := range o.Workloads {
		w := &o.Workloads[i]
		o.Placed, o.Pending, o.NotCreated, o.Missing = o.Placed.Plus(w.Placed), o.Pending.Plus(w.Pending), o.NotCreated.Plus(w.NotCreated), o.Missing.Plus(w.Missing)
		o.Refused, o.Unplaced, o.Again = o.Refused.Plus(w.Refused), o.Unplaced.Plus(w.Unplaced), o.Again.Plus(w.Again)
		o.Arriving, o.Staying = o.Arriving.Plus(w.Arriving), o.Staying.Plus(w.Staying)
	}
}

// Rolled adds to an outcome what becomes of the new pods of rollouts, by workload, and of all of them in total. What the
// outcome has of those itself is left out.
func (o *Outcome) Rolled(own []WorkloadOutcome, total Range) {
	for i := range own {
		at := slices.IndexFunc(o.Workloads, func(w WorkloadOutcome) bool { return w.WorkloadKey == own[i].WorkloadKey })
		if at < 0 {
			o.Workloads = append(o.Workloads, own[i])
			at = len(o.Workloads) - 1
		}
		own[i].Preempted = o.Workloads[at].Preempted
		o.Workloads[at] = WorkloadOutcome{}
	}
	o.count()
	for _, r := range []*Range{&o.Pending, &o.Missing, &o.Unplaced, &o.Staying} {
		*r = r.Plus(total)
	}
	o.Workloads = slices.DeleteFunc(append(o.Workloads, own...), func(w WorkloadOutcome) bool { return w.Missing.Max+w.Preempted.Max == 0 })
	slices.SortFunc(o.Workloads, func(a, b WorkloadOutcome) int { return a.Compare(b.WorkloadKey) })
}
