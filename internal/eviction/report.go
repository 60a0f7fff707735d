// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Report is the outcome of an evaluation.
type Report struct {
	// Pods holds a verdict for every pod on the changed nodes, sorted by node,
	// namespace and name.
	Pods []PodVerdict
	// Nodes are the names of the changed nodes, sorted.
	Nodes []string
	// Gaps says what could not be read.
	Gaps []string
}

// Join makes one report of those of changes that follow each other. Of a pod that several
// of them speak of, the gravest verdict counts; it is stranded where any of them strands
// it.
func Join(reports ...*Report) *Report {
	out := &Report{}
	at := map[string]int{}
	for _, r := range reports {
		out.Nodes, out.Gaps = append(out.Nodes, r.Nodes...), append(out.Gaps, r.Gaps...)
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
		a.Stranded, a.Spared = true, b.Spared
	}
	return a
}

// Summary counts verdicts.
type Summary struct {
	Stays, EvictedNow, EvictedAfter, Drained, Unknown int
	// NotReschedulable counts pods that leave and that no node would take, whatever
	// becomes of them.
	NotReschedulable int
	// What becomes of pods that leave and have no place at once; none counts in two of
	// them. Lost have no controller that makes them again. Daemons belong to DaemonSets,
	// which have no other node for them. Rejected may not be made again in their
	// namespace. Pending are made again, and no node would take them. Awaiting are those
	// that only machines which come would take.
	Lost, Daemons, Rejected, Pending, Awaiting int
}

// NotRecreated counts the pods that leave and that are not made again as things are.
func (s Summary) NotRecreated() int {
	return s.Lost + s.Daemons + s.Rejected
}

// Gone counts the pods that leave and do not come back as things are: nothing makes them
// again, or no node would take them.
func (s Summary) Gone() int {
	return s.NotRecreated() + s.Pending
}

// Evicted counts the pods that leave.
func (s Summary) Evicted() int {
	return s.EvictedNow + s.EvictedAfter + s.Drained
}

// Affected counts every verdict but Stays.
func (s Summary) Affected() int {
	return s.Evicted() + s.Unknown
}

func (s *Summary) add(v PodVerdict) {
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
	if v.Leaves() {
		s.follow(v)
	}
}

// follow counts what becomes of a pod that leaves, once.
func (s *Summary) follow(v PodVerdict) {
	if !v.Reschedulable {
		s.NotReschedulable++
	}
	switch {
	case v.Lost:
		s.Lost++
	case v.Reschedulable && len(v.Awaits) > 0:
		s.Awaiting++
	case v.Reschedulable:
	case v.Rejected:
		s.Rejected++
	case v.Owner.DaemonSet():
		s.Daemons++
	default:
		s.Pending++
	}
}

// Summary counts the verdicts of all pods.
func (r *Report) Summary() Summary {
	var s Summary
	for i := range r.Pods {
		s.add(r.Pods[i])
	}
	return s
}

// Workload is the verdicts of one workload's pods, over all nodes.
type Workload struct {
	Namespace string
	Owner     snapshot.Owner
	Summary   Summary
	// Pods are the workload's verdicts in the report's order.
	Pods []PodVerdict
}

// Workloads rolls the verdicts up by workload, those that lose most first; a
// pod without a controller is a workload of kind Pod.
func (r *Report) Workloads() []Workload {
	type key struct {
		namespace string
		owner     snapshot.Owner
	}
	at := map[key]int{}
	var out []Workload
	for _, v := range r.Pods {
		owner := v.Owner
		if owner.Kind == "" {
			owner = snapshot.Owner{Kind: "Pod", Name: v.Pod.Name}
		}
		k := key{v.Pod.Namespace, owner}
		i, known := at[k]
		if !known {
			i = len(out)
			at[k] = i
			out = append(out, Workload{Namespace: k.namespace, Owner: owner})
		}
		out[i].Summary.add(v)
		out[i].Pods = append(out[i].Pods, v)
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
