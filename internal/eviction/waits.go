// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// jobBackoff is how many seconds a Job waits at least after a pod has failed before it creates another one. Each further pod
// that fails doubles that, up to longestBackoff. An evicted pod counts as failed, also where the podFailurePolicy ignores it
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, manageJob, and backoff_utils.go).
const jobBackoff, longestBackoff = 10, 600

// keepNames are the kinds, beside StatefulSets, whose new pods have the names of the old ones or their nodes: no such pod is
// created while the old one is there. See controllers.
var keepNames = map[groupKind]bool{
	{"core.strimzi.io", "StrimziPodSet"}: true,
	{"postgresql.cnpg.io", "Cluster"}:    true,
	{"apps.kruise.io", "DaemonSet"}:      true,
}

// waits returns how many seconds after the eviction of a pod its controller creates another one, at most. It is 0 where the
// controller does not wait until the pod is gone
// (k8s.io/kubernetes v1.37.2 pkg/controller/replicaset/replica_set.go, manageReplicas, against
// pkg/controller/statefulset/stateful_set_control.go, processReplica, and
// pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode).
func (e *evaluation) waits(pod *snapshot.Pod) int64 {
	c := pod.Controller
	switch {
	case c == nil:
		return 0
	case c.Job():
		return e.jobWaits(pod)
	case c.StatefulSet(), c.DaemonSet(), keepNames[groupKind{c.Group, c.Kind}]:
		return int64(pod.Grace)
	default:
		return 0
	}
}

// jobWaits is waits for the pod of a Job. Failures of before are not counted: it is not read which of them came after a pod
// that ended well.
func (e *evaluation) jobWaits(pod *snapshot.Pod) int64 {
	job, out := e.snapshot.Jobs[pod.Controller.UID], int64(jobBackoff)
	// A Job with a limit for each index counts the failures of each.
	if of := e.jobs[pod.Controller.UID]; of != nil && (job == nil || job.PerIndex == nil) {
		for n := 1; n < len(of.evicted) && out < longestBackoff; n++ {
			out *= 2
		}
	}
	out = min(out, longestBackoff)
	if job != nil && job.OnlyFailed {
		// The podReplacementPolicy Failed: the pod must be gone as well.
		out += int64(pod.Grace)
	}
	return out
}
