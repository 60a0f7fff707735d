// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Blocking returns the pods of a StatefulSet that keep its controller from replacing others,
// by name: with podManagementPolicy OrderedReady those that are not ready or terminating
// (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_control.go,
// processReplica). It returns none for other workloads.
func Blocking(s *snapshot.Snapshot, w *workload.Workload) []*snapshot.Pod {
	if len(w.Ordered) == 0 {
		return nil
	}
	var out []*snapshot.Pod
	note := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			if (!p.Ready || p.Terminating) && !p.Completed && slices.Contains(w.Ordered, snapshot.WorkloadKey{Namespace: p.Namespace, Owner: s.Owner(p)}) {
				out = append(out, p)
			}
		}
	}
	for _, pods := range s.Pods {
		note(pods)
	}
	note(s.Waiting)
	slices.SortFunc(out, (*snapshot.Pod).Compare)
	return out
}

// policies returns which StatefulSets create their pods one after the other: of those that are known beside a change,
// and of those of the change, which an operator may make.
func policies(known map[snapshot.WorkloadKey]bool, all []Tolerations) map[snapshot.WorkloadKey]bool {
	out := map[snapshot.WorkloadKey]bool{}
	maps.Copy(out, known)
	for _, t := range all {
		for _, w := range append(slices.Clone(t.Workload.Operands), t.Workload) {
			if key := w.Owner(); key.StatefulSet() {
				out[key] = slices.Contains(w.Ordered, key)
			}
		}
	}
	return out
}
