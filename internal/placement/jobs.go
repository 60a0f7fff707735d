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
	// lost counts the orders in which a pod is not replaced because its Job fails.
	lost map[*snapshot.Pod]int
}

func newFailures() failures {
	return failures{preempted: map[types.UID]int{}, lost: map[*snapshot.Pod]int{}}
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
		s.endJob(job)
	}
	return end.Lost
}

// endJob deletes the replacements of a Job that fails. Its other pods keep their room, as those of a Job do that
// fails by the evictions of the change.
func (s *simulation) endJob(job types.UID) {
	for _, r := range s.replacements {
		if r.waiting || r.ended || r.pod.Controller == nil || r.pod.Controller.UID != job {
			continue
		}
		r.ended = true
		switch {
		case r.node < 0:
			continue
		case r.nominee:
			s.dismiss(r)
		default:
			s.remove(r.node, occupant{pod: r.pod, replacement: r})
			s.used.release(r.binding)
			r.binding = nil
		}
		r.node, s.vacated = -1, true
	}
}

// countEnded counts a replacement that its Job does not create, since it fails.
func (s *simulation) countEnded(r *replacement, w *tally) {
	w.lost++
	s.failures.lost[r.pod]++
	if r.group != nil {
		r.group.lost++
	}
}
