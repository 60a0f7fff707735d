// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	appsv1 "k8s.io/api/apps/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Simulate gives the verdicts of Evaluate, and tells where the replacements of all evicted pods
// go, together. Pods whose outcome is unknown count as evicted.
func Simulate(s *snapshot.Snapshot, change Change, comparison Comparison, orders int, seed uint64) (*Report, *placement.Outcome) {
	e := newEvaluation(s, change, comparison)
	report := e.report()
	return report, e.nodes.Simulate(e.evictions(report.Pods), orders, seed)
}

// evictions lists the pods that verdicts evict, with what their controllers create instead:
//   - Nothing replaces a bare pod, and a pod of a DaemonSet only where its node takes it again.
//   - A completed pod holds no room, and the kubelet puts back the mirror of a static pod.
//   - A StatefulSet counts as one that starts its pods one after the other, which is the default of
//     podManagementPolicy.
func (e *evaluation) evictions(verdicts []PodVerdict) []placement.Eviction {
	var out []placement.Eviction
	for i := range verdicts {
		v := &verdicts[i]
		if !v.Leaves() && v.Verdict != Unknown || v.Pod.Completed || v.Pod.Mirror {
			continue
		}
		one := placement.Eviction{Pod: v.Pod, After: v.AfterSeconds, Ordered: v.Owner.Group == appsv1.GroupName && v.Owner.Kind == "StatefulSet"}
		if v.Pod.Controller != nil {
			one.Scheduling = e.replacement(v.Pod, v.Owner)
		}
		out = append(out, one)
	}
	return out
}

// replacement is how the pod will be scheduled that a controller creates for an evicted one, nil
// where it creates none.
func (e *evaluation) replacement(pod *snapshot.Pod, owner snapshot.Owner) *snapshot.Scheduling {
	scheduling, change, planned := e.planned(pod, owner)
	if !planned {
		scheduling = pod.Scheduling
	}
	if !owner.DaemonSet() {
		return e.made(pod, scheduling)
	}
	if template := e.daemon(pod, change); template != nil {
		scheduling = e.successor(template, pod.Node)
	}
	if !e.nodes.Fits(pod, scheduling) {
		return nil
	}
	return scheduling
}
