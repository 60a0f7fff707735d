// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Ending is what becomes of a Job when preemption evicts its pods: they count as failed, as evicted ones do
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/preemption/executor.go sets the condition DisruptionTarget, and
// pkg/controller/job/job_controller.go, isPodFailed, counts pods that are deleted).
type Ending struct {
	// Fails is set where the Job fails, Lost where it creates no other pod instead of this one.
	Fails, Lost bool
	// Unsure is set where that is not known, Unknown where the Job was not read.
	Unsure, Unknown bool
}

// failures are of the order that is being tried.
type failures struct {
	// preempted counts the pods of a Job that preemption has evicted.
	preempted map[types.UID]int
	// unread is set where a Job in any order was not read.
	unread bool
	// failed are the Jobs that fail with the victims at hand, over all that have failed.
	failed []types.UID
	over   map[types.UID]bool
	// lost counts the orders in which nothing replaces a pod because of preemption.
	lost map[*snapshot.Pod]int
	// pods are those of each Job, made when a first one fails.
	pods map[types.UID][]placedPod
}

func newFailures() failures {
	return failures{preempted: map[types.UID]int{}, over: map[types.UID]bool{}, lost: map[*snapshot.Pod]int{}}
}

// fail counts a pod that preemption evicts towards the limits of its Job, and reports whether the Job creates no other one.
func (s *simulation) fail(pod *snapshot.Pod) bool {
	if s.Finder.change.Ends == nil || !pod.Controller.Job() {
		return false
	}
	job := pod.Controller.UID
	s.failures.preempted[job]++
	end := s.Finder.change.Ends(pod, s.failures.preempted[job])
	if end.Unknown {
		s.failures.unread, s.unread[pod] = true, true
	}
	if end.Unsure && !s.unreplaced {
		return false
	}
	if end.Fails {
		s.failures.failed = append(s.failures.failed, job)
	}
	return end.Lost
}

// endJobs ends the Jobs that have failed. The scheduler evicts all victims of a pod before a controller sees the first.
func (s *simulation) endJobs() {
	for _, job := range s.failures.failed {
		s.endJob(job)
		s.returned = true
	}
	s.failures.failed = s.failures.failed[:0]
}

// endJob deletes the pods and the replacements of a Job that fails, its Pending pods included.
func (s *simulation) endJob(job types.UID) {
	s.failures.over[job] = true
	s.deletePods(job)
	for _, r := range s.replacements {
		if r.ended || r.pod.Controller == nil || r.pod.Controller.UID != job {
			continue
		}
		s.end(r)
		switch {
		case r.node < 0:
			continue
		case r.nominee:
			s.withdrawNomination(r)
		default:
			s.remove(r.node, occupant{pod: r.pod, replacement: r})
			s.used.release(r.binding)
			r.binding = nil
		}
		r.node, s.vacated, s.budgets.recovered = -1, true, nil
	}
}

// end notes that a Job does not create a replacement, or deletes it. Its Pending pods go with it.
func (s *simulation) end(r *replacement) {
	switch r.ended = true; {
	case r.waiting && s.isUndecided[r.pod] != nil:
		r.deleted = true
	case r.waiting:
		r.deleted, s.deleted = true, append(s.deleted, r.pod)
		s.quotas.release(s, r.pod)
	case r.created:
		s.quotas.refund(s, r.pod)
	}
}

// deletePods takes the pods from their nodes that a failed Job deletes
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, deleteActivePods). The change evicts some later on,
// or may evict them: these count by that.
func (s *simulation) deletePods(job types.UID) {
	for _, one := range s.podsOf(job) {
		if _, planned := s.evicted[one.pod]; planned || s.isPreempted[one.pod] {
			continue
		}
		s.remove(one.node, occupant{pod: one.pod})
		s.vacated = true
		s.isPreempted[one.pod] = true
		s.quotas.release(s, one.pod)
		s.budgets.spend(s, one.pod)
		if s.isUndecided[one.pod] == nil {
			s.deleted = append(s.deleted, one.pod)
		}
	}
}

// podsOf returns the pods of a Job that run on nodes.
func (s *simulation) podsOf(job types.UID) []placedPod {
	if s.failures.pods == nil {
		s.failures.pods = map[types.UID][]placedPod{}
		for i, p := range s.places {
			for _, pod := range s.snapshot.Pods[p.node.Name] {
				if pod.Controller != nil && pod.Controller.Job() && !pod.Completed && !pod.Terminating {
					s.failures.pods[pod.Controller.UID] = append(s.failures.pods[pod.Controller.UID], placedPod{pod: pod, node: int32(i)})
				}
			}
		}
	}
	return s.failures.pods[job]
}

// loses reports whether nothing recreates a victim: it has no controller, or what its controller runs fails without it.
// Pods of DaemonSets belong to their nodes.
func (s *simulation) loses(pod *snapshot.Pod) bool {
	switch {
	case pod.Mirror:
		return false
	case pod.Controller == nil:
		return true
	case s.snapshot.RunsOnEveryNode(pod):
		return false
	default:
		return s.victim(pod).Scheduling == nil
	}
}

// countEnded counts a replacement that its Job does not create, since it fails. Where a verdict reports that a pod may be
// lost, it counts by that.
func (s *simulation) countEnded(r *replacement, w *tally) {
	if !r.perhaps || r.group == nil {
		w.lost++
	}
	w.JobFails = w.JobFails || s.failures.over[r.pod.Controller.UID]
	s.failures.lost[r.pod]++
	if r.group != nil {
		r.group.lost++
	}
}
