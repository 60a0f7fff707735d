// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// The pods of the changed nodes show something by themselves, in a snapshot that has those of some
// nodes only (snapshot.Snapshot.Only). Whether such a pod stays depends on its node's taints, on what it
// tolerates and on the template of its DaemonSet. What replaces an evicted pod, which workload it
// belongs to, which PodDisruptionBudget covers it and what it waits for depend on the rest.

// Settled reports whether there is nothing to tell about any pod, whatever the rest of the cluster
// is like. Where only admission and volumes could change that, so that pods fit on nodes which the
// snapshot has, it takes the caller's word that admission gives nothing to new pods and restricts
// none. A report on a node whose pods were not read is not settled.
func (r *Report) Settled(admitsAsIs bool) bool {
	for _, v := range r.Pods {
		if !v.Plain() || v.OtherNodes && (!admitsAsIs || hasVolumes(v.Pod)) {
			return false
		}
	}
	return !r.unread
}

// OpenPlaces reports whether all that keeps the report from being settled is that some pods could
// not be scheduled again on their nodes: the pods of a few other nodes may show that these have room.
func (r *Report) OpenPlaces() bool {
	open := false
	for _, v := range r.Pods {
		if v.OtherNodes {
			open, v.NoPlace = true, false
		}
		if !v.Plain() || v.OtherNodes && hasVolumes(v.Pod) {
			return false
		}
	}
	return open && !r.unread
}

// hasVolumes reports whether volumes may decide on which nodes a new pod fits.
func hasVolumes(pod *snapshot.Pod) bool { return len(pod.Claims) > 0 || pod.Ephemeral }
