// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// EndedPod is a pod that its Job deletes, since it fails by the eviction of others. Its node may not change at all.
type EndedPod struct {
	Pod   *snapshot.Pod
	Owner snapshot.Owner
	// After is the delay in seconds.
	After int64
	// Unsure is set where it is not known whether the Job fails, Unread beside it where the Job was not read.
	Unsure, Unread bool
}

// jobEnding is a Job that fails, or may fail, with the evicted pods by which it does.
type jobEnding struct {
	EndedPod
	of *jobPods
}

// untilSynced is how long a Job's controller waits before it looks at the Job, in seconds
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, SyncJobBatchPeriod).
const untilSynced = 1

// ending returns how a Job ends by its fate, nil where it goes on. A Job that fails deletes its other pods without
// back-off (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, deleteActivePods).
func ending(j *snapshot.Job, fate jobFate, of *jobPods) *jobEnding {
	switch {
	case fate.unknown && (j == nil || fate.whole):
		return &jobEnding{EndedPod{Unsure: true, Unread: j == nil}, of}
	case fate.fails != jobFails:
		return nil
	}
	seconds := make([]int64, len(of.evicted))
	for i, v := range of.evicted {
		seconds[i] = v.AfterSeconds
	}
	slices.Sort(seconds)
	enough := 0
	for enough < len(seconds)-1 && fateOf(j, of.disrupted, enough+1, 0).fails != jobFails {
		enough++
	}
	return &jobEnding{EndedPod{After: seconds[enough] + untilSynced}, of}
}

// endOthers notes the other pods of Jobs that fail, or may fail, on nodes that do not change as well, and how many
// they are.
func (e *evaluation) endOthers(r *Report, endings map[types.UID]*jobEnding) {
	if len(endings) == 0 {
		return
	}
	verdicts := map[*snapshot.Pod]Verdict{}
	for i := range r.Pods {
		if r.Pods[i].Verdict != Stays {
			verdicts[r.Pods[i].Pod] = r.Pods[i].Verdict
		}
	}
	for _, pods := range e.snapshot.Pods {
		e.end(r, endings, verdicts, pods)
	}
	e.end(r, endings, verdicts, e.snapshot.Waiting)
	slices.SortFunc(r.Ended, func(a, b EndedPod) int { return a.Pod.Compare(b.Pod) })
	e.ended = map[*snapshot.Pod]bool{}
	others := map[types.UID]int{}
	for _, p := range r.Ended {
		if e.ended[p.Pod] = true; !p.Unsure {
			others[p.Pod.Controller.UID]++
		}
	}
	for uid, n := range others {
		for _, v := range endings[uid].of.evicted {
			v.OtherPods = n
			v.Reason += fmt.Sprintf(", which deletes %d more", n)
		}
	}
	// The finder has counted what nodes have left without them.
	e.nodes = e.finder()
}

// end adds those of the pods that Jobs delete, but for evicted ones.
func (e *evaluation) end(r *Report, endings map[types.UID]*jobEnding, verdicts map[*snapshot.Pod]Verdict, pods []*snapshot.Pod) {
	for _, p := range pods {
		if p.Controller == nil || p.Completed || p.Terminating || endings[p.Controller.UID] == nil {
			continue
		}
		one, verdict := endings[p.Controller.UID].EndedPod, verdicts[p]
		one.Pod, one.Owner = p, e.snapshot.Owner(p)
		elsewhere := e.leavesElsewhere(p.Node)
		if cmp.Or(verdict, Unknown) != Unknown || one.Unsure && (verdict == Unknown || elsewhere != nil && elsewhere(p)) {
			continue
		}
		r.Ended = append(r.Ended, one)
	}
}

// ends returns which pods failed Jobs delete, nil for none.
func (e *evaluation) ends() func(*snapshot.Pod) bool {
	if len(e.ended) == 0 {
		return nil
	}
	return func(pod *snapshot.Pod) bool { return e.ended[pod] }
}

// endings lists these pods for a simulation: nothing replaces them.
func (r *Report) endings() []placement.Eviction {
	out := make([]placement.Eviction, len(r.Ended))
	for i, p := range r.Ended {
		out[i] = placement.Eviction{Pod: p.Pod, After: p.After, Unsure: p.Unsure, Unread: p.Unread}
	}
	return out
}

// endedBeside returns those of the ended pods that have no verdict by which they count already. Jobs that were not
// read are assumed to go on.
func (r *Report) endedBeside() []EndedPod {
	counted := map[string]bool{}
	for i := range r.Pods {
		if len(r.Ended) > 0 && r.Pods[i].Verdict != Stays {
			counted[r.Pods[i].Pod.Key()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Ended), func(p EndedPod) bool { return p.Unread || counted[p.Pod.Key()] })
}

// endedOthers returns the pods that failed Jobs delete beside those that are evicted, or that may be unless their Job is
// sure to fail. Jobs that were not read are assumed to go on.
func (r *Report) endedOthers() []EndedPod {
	evicted := map[string]bool{}
	for i := range r.Pods {
		if len(r.Ended) > 0 && r.Pods[i].Leaves() {
			evicted[r.Pods[i].Pod.Key()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Ended), func(p EndedPod) bool { return p.Unread || evicted[p.Pod.Key()] })
}

// endedPods counts them.
func (r *Report) endedPods() (n Range) {
	for _, p := range r.endedOthers() {
		n = p.counted(n)
	}
	return n
}

// counted adds the pod to a number.
func (p EndedPod) counted(n Range) Range {
	if n.Max++; !p.Unsure {
		n.Min++
	}
	return n
}

// joinEnded makes one list of two, in which a pod that a Job is sure to delete counts as that.
func joinEnded(a, b []EndedPod) []EndedPod {
	out := slices.Concat(a, b)
	slices.SortStableFunc(out, func(a, b EndedPod) int {
		return cmp.Or(a.Pod.Compare(b.Pod), certainFirst(a.Unsure, b.Unsure), certainFirst(a.Unread, b.Unread))
	})
	return slices.CompactFunc(out, func(a, b EndedPod) bool { return a.Pod.Key() == b.Pod.Key() })
}

func certainFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// endedOn returns the ended pods whose Jobs have pods that do not stay.
func (r *Report) endedOn() []EndedPod {
	jobs := map[types.UID]bool{}
	for i := range r.Pods {
		if p := r.Pods[i].Pod; p.Controller != nil && r.Pods[i].Verdict != Stays {
			jobs[p.Controller.UID] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(r.Ended), func(p EndedPod) bool { return !jobs[p.Pod.Controller.UID] })
}
