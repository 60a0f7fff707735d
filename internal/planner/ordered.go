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
// processReplica). Of a DaemonSet it returns those on nodes that are not ready, if they are as many as may be unavailable.
// It returns none for other workloads.
func Blocking(s *snapshot.Snapshot, w *workload.Workload) []*snapshot.Pod {
	if w.Owner().DaemonSet() {
		return onDeadNodes(s, w)
	}
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

// onDeadNodes returns the pods of a DaemonSet that are not ready on nodes that are not ready, by name. Its controller counts
// them as unavailable, and once it has deleted them, it counts their nodes until their kubelets end them. It replaces no available pod
// where that is as many as may be unavailable, unless new pods may come before the old ones go
// (k8s.io/kubernetes v1.37.2 pkg/controller/daemon/update.go, rollingUpdate).
func onDeadNodes(s *snapshot.Snapshot, w *workload.Workload) []*snapshot.Pod {
	pace := w.Rolling.Pace
	if pace == nil || pace.Surge > 0 {
		return nil
	}
	var out []*snapshot.Pod
	dead := map[string]bool{}
	for name, n := range s.Nodes {
		for _, p := range s.Pods[name] {
			if !n.Ready && (!p.Ready || p.Terminating) && !p.Completed && p.Namespace == w.Namespace && s.Owner(p) == w.Owner().Owner {
				out, dead[name] = append(out, p), true
			}
		}
	}
	if len(dead) < pace.Unavailable {
		return nil
	}
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
