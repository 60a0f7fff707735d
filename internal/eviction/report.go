// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"slices"
	"sync"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Report is the outcome of an evaluation.
type Report struct {
	// Pods holds a verdict for every pod on the changed nodes, sorted by node,
	// namespace and name.
	Pods []PodVerdict
	// Nodes are the names of the changed nodes, sorted.
	Nodes []string
	// Gaps lists the reads that failed, as messages.
	Gaps []string
	// Deletes is set where drains delete the pods in place of evictions.
	Deletes bool
	// Ended are the pods that failed Jobs delete beside the evicted ones, sorted by namespace and name.
	Ended []EndedPod
	// Restarting are the workloads whose pods the same run restarts, and which the change may evict for that.
	Restarting []Restarting
	// UnknownJobs is set where it is not known whether a Job creates other pods in the place of evicted ones.
	UnknownJobs bool

	// unreadElsewhere is set where pods that the change does not evict may be replaced whose Jobs or PriorityClasses were not read.
	unreadElsewhere bool
	// elsewhere is set where others of the run evict pods, places where it was asked which nodes take new pods.
	elsewhere, places bool
	// crowding is set where a Pending pod may preempt others once pods are evicted.
	crowding bool
	// unread is set where a changed node is none of those whose pods were read.
	unread bool
	// does is what the change does to nodes, brings is set where it brings others.
	does    *snapshot.Others
	brings  bool
	outcome func() *placement.Outcome
}

// Join makes one report of those of changes that follow each other. Of a pod that several
// of them speak of, the gravest verdict counts; it is stranded where any of them strands
// it.
func Join(reports ...*Report) *Report {
	out := &Report{Deletes: len(reports) > 0}
	at := map[string]int{}
	for _, r := range reports {
		out.Deletes = out.Deletes && r.Deletes
		out.Nodes, out.Gaps = append(out.Nodes, r.Nodes...), append(out.Gaps, r.Gaps...)
		out.unread, out.UnknownJobs = out.unread || r.unread, out.UnknownJobs || r.UnknownJobs
		out.elsewhere, out.places, out.brings = out.elsewhere || r.elsewhere, out.places || r.places, out.brings || r.brings
		out.crowding = out.crowding || r.crowding
		out.Restarting = joinRestarting(out.Restarting, r.Restarting)
		out.does, out.Ended, out.unreadElsewhere = out.does.And(r.does), joinEnded(out.Ended, r.Ended), out.unreadElsewhere || r.unreadElsewhere
		for _, v := range r.Pods {
			i, known := at[v.Pod.Key()]
			switch {
			case !known:
				at[v.Pod.Key()] = len(out.Pods)
				out.Pods = append(out.Pods, v)
			default:
				out.Pods[i] = graver(out.Pods[i], v)
			}
		}
	}
	slices.SortFunc(out.Pods, func(a, b PodVerdict) int {
		return cmp.Or(cmp.Compare(a.Pod.Node, b.Pod.Node), a.Pod.Compare(b.Pod))
	})
	slices.Sort(out.Nodes)
	slices.Sort(out.Gaps)
	out.Nodes, out.Gaps = slices.Compact(out.Nodes), slices.Compact(out.Gaps)
	out.outcome = sync.OnceValue(func() *placement.Outcome {
		outcomes := make([]*placement.Outcome, len(reports))
		for i, r := range reports {
			outcomes[i] = r.Outcome()
		}
		return placement.Join(outcomes...)
	})
	return out
}

// graver joins two verdicts on one pod.
func graver(a, b PodVerdict) PodVerdict {
	rank := func(v PodVerdict) int {
		switch {
		case v.Leaves():
			return 3
		case v.Verdict == Unknown:
			return 2
		case !v.Plain():
			return 1
		}
		return 0
	}
	if rank(b) > rank(a) {
		a, b = b, a
	}
	if b.Stranded && !a.Stranded {
		a.Stranded, a.SavedByTolerations = true, b.SavedByTolerations
	}
	return a
}

// Range is a number where the order in which pods are placed does not matter.
type Range = placement.Range

// Summary counts verdicts, and what comes of them.
type Summary struct {
	// These count the pods that have not completed, but for Stays.
	Stays, EvictedNow, EvictedAfter, Drained, Unknown int
	// Completed counts those of the pods that do not stay that have run to their end: only their
	// objects are deleted. CompletedUnknown counts those of them that may stay.
	Completed, CompletedUnknown int
	// Lost counts the evicted pods that nothing recreates. Daemons belong to DaemonSets, which have no other node for
	// them. None counts twice.
	Lost, Daemons int
	// MayBeLost counts the evicted pods that their controllers may not recreate, and those that nothing recreates and
	// that may be evicted.
	MayBeLost int
	// Ended counts the pods that Jobs delete which fail by evictions, Preempting those that are lost by preemption, and
	// Deleted those of the latter that Jobs delete which fail by that.
	Ended, Preempting, Deleted Range
	// Pending counts the replacements that no node takes, or that are not created because one before
	// them waits, or admission refuses them, Awaiting those of them that nodes take and have room for which the change brings,
	// and Staying the others. Refused counts those of the Pending ones that are refused, and Unplaced the others.
	Pending, Awaiting, Staying, Refused, Unplaced Range
	// Preempted counts the pods elsewhere that the preemption by replacements evicts.
	Preempted Range
	// Again counts the replacements that are placed on a node that evicts them again.
	Again Range
}

// LostPods is how many pods no controller recreates, at least and at most.
func (s Summary) LostPods() Range {
	return Range{Min: s.Lost + s.Preempting.Min + s.Ended.Min, Max: s.Lost + s.MayBeLost + s.Preempting.Max + s.Ended.Max}
}

// Evicted returns how many pods are evicted, without completed ones.
func (s Summary) Evicted() int { return s.EvictedNow + s.EvictedAfter + s.Drained }

// Affected counts every verdict but Stays, but for completed pods.
func (s Summary) Affected() int { return s.Evicted() + s.Unknown }

func (s *Summary) add(v PodVerdict) {
	if v.Pod.Completed && v.Verdict != Stays {
		s.Completed++
		if v.Verdict == Unknown {
			s.CompletedUnknown++
		}
		return
	}
	switch v.Verdict {
	case EvictedNow:
		s.EvictedNow++
	case EvictedAfter:
		s.EvictedAfter++
	case Drained:
		s.Drained++
	case Unknown:
		s.Unknown++
	default:
		s.Stays++
	}
	switch {
	case v.Leaves() && v.Lost:
		s.Lost++
	case v.Leaves() && v.NoPlace && v.Owner.DaemonSet():
		s.Daemons++
	case v.PerhapsLost():
		s.MayBeLost++
	}
}

// Summary counts the verdicts of all pods.
func (r *Report) Summary() Summary {
	out := r.Outcome()
	s := Summary{Pending: out.Missing, Awaiting: out.Arriving, Staying: out.Staying, Refused: out.Refused, Unplaced: out.Unplaced, Preempted: out.Preempted, Again: out.Again, Preempting: out.Lost, Deleted: out.Deleted, Ended: r.endedPods()}
	for i := range r.Pods {
		s.add(r.Pods[i])
	}
	return s
}

// LeavesPending reports whether replacements may stay Pending because no node takes them.
func (r *Report) LeavesPending() bool { return r != nil && r.Outcome().Unplaced.Max > 0 }

// Replaced returns the pods in whose place others are created, as far as it was simulated: evicted ones and those that are
// preempted.
func (r *Report) Replaced() []*snapshot.Pod {
	if r == nil {
		return nil
	}
	var out []*snapshot.Pod
	for i := range r.Pods {
		if pod := r.Pods[i].Pod; r.Outcome().Of(pod) != nil {
			out = append(out, pod)
		}
	}
	for _, v := range r.Outcome().Victims {
		if v.Pod.Controller != nil {
			out = append(out, v.Pod)
		}
	}
	return out
}

// Evicted returns the pods that are evicted, or may be; of no report there are none.
func (r *Report) Evicted() []*snapshot.Pod {
	if r == nil {
		return nil
	}
	var out []*snapshot.Pod
	for i := range r.Pods {
		if v := &r.Pods[i]; v.Leaves() || v.Verdict == Unknown {
			out = append(out, v.Pod)
		}
	}
	return out
}

// Workload is the verdicts of one workload's pods, over all nodes.
type Workload struct {
	Namespace string
	Owner     snapshot.Owner
	Summary   Summary
	// Pods are the workload's verdicts in the report's order; there is none where preemption evicts
	// all that are evicted.
	Pods []PodVerdict
	// Outcome is what becomes of the replacements.
	Outcome placement.WorkloadOutcome
}

// Workloads rolls the verdicts up by workload, those that lose most first; a
// pod without a controller is a workload of kind Pod.
func (r *Report) Workloads() []Workload {
	at := map[snapshot.WorkloadKey]int{}
	var out []Workload
	of := func(key snapshot.WorkloadKey) *Workload {
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Workload{Namespace: key.Namespace, Owner: key.Owner})
		}
		return &out[i]
	}
	for _, v := range r.Pods {
		owner := v.Owner
		if owner.Kind == "" {
			owner = snapshot.Owner{Kind: "Pod", Name: v.Pod.Name}
		}
		w := of(snapshot.WorkloadKey{Namespace: v.Pod.Namespace, Owner: owner})
		w.Summary.add(v)
		w.Pods = append(w.Pods, v)
	}
	for _, p := range r.endedOthers() {
		ended := &of(snapshot.WorkloadKey{Namespace: p.Pod.Namespace, Owner: p.Owner}).Summary.Ended
		*ended = p.counted(*ended)
	}
	for _, o := range r.Outcome().Workloads {
		w := of(o.WorkloadKey)
		w.Outcome, w.Summary.Pending, w.Summary.Awaiting, w.Summary.Staying, w.Summary.Preempted = o, o.Missing, o.Arriving, o.Staying, o.Preempted
		w.Summary.Refused, w.Summary.Unplaced, w.Summary.Again, w.Summary.Preempting, w.Summary.Deleted = o.Refused, o.Unplaced, o.Again, o.Lost, o.Deleted
	}
	slices.SortStableFunc(out, func(a, b Workload) int {
		return cmp.Or(
			cmp.Compare(b.Summary.Affected(), a.Summary.Affected()),
			cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Owner.Kind, b.Owner.Kind),
			cmp.Compare(a.Owner.Name, b.Owner.Name),
		)
	})
	return out
}
