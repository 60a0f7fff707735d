// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// successors lists the pods on all nodes that are terminating already and whose controllers create others
// only once they are gone: those of StatefulSets and DaemonSets (k8s.io/kubernetes v1.37.2
// pkg/controller/statefulset/stateful_set_control.go, processReplica, and
// pkg/controller/daemon/daemon_controller.go, podsShouldBeOnNode). What replaces the pods of other
// controllers is there.
func (e *evaluation) successors() []placement.Eviction {
	var out []placement.Eviction
	for _, pods := range e.snapshot.Pods {
		for _, pod := range pods {
			if !pod.Terminating || pod.Completed || pod.Mirror || pod.Controller == nil {
				continue
			}
			owner := e.snapshot.Owner(pod)
			if !owner.StatefulSet() && (!owner.DaemonSet() || surged(pod, pods)) {
				continue
			}
			one := placement.Eviction{Pod: pod, Scheduling: e.replacement(pod, owner)}
			if one.Ordered, one.PolicyUnknown = e.policy(pod, owner); one.Scheduling != nil {
				out = append(out, one)
			}
		}
	}
	slices.SortFunc(out, func(a, b placement.Eviction) int {
		return cmp.Or(a.Pod.Compare(b.Pod), cmp.Compare(a.Pod.Node, b.Pod.Node))
	})
	return out
}

// surged reports whether what replaces a pod of a DaemonSet is on its node already.
func surged(pod *snapshot.Pod, beside []*snapshot.Pod) bool {
	return slices.ContainsFunc(beside, func(p *snapshot.Pod) bool {
		return !p.Terminating && !p.Completed && p.Controller != nil && p.Controller.UID == pod.Controller.UID
	})
}
