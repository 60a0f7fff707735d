// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import "fmt"

type budgetKey struct {
	namespace, name string
	drained         bool
}

// coverByBudgets says of every pod that leaves which PodDisruptionBudget covers
// it. The arithmetic is over all nodes of the change: each budget counts all of
// its pods that leave in the same way. Taint eviction deletes pods and asks no budget; a drain
// goes through the eviction API, which obeys them.
func (e *evaluation) coverByBudgets(pods []PodVerdict) {
	leaving := map[budgetKey]int{}
	covering := make([][]*Budget, len(pods))
	for i := range pods {
		if !pods[i].Leaves() || pods[i].Pod.Completed {
			continue
		}
		if covering[i] = e.snapshot.Covering(pods[i].Pod); len(covering[i]) > 0 {
			leaving[budgetKey{pods[i].Pod.Namespace, covering[i][0].Name, e.asks(pods[i])}]++
		}
	}
	for i, all := range covering {
		if len(all) == 0 {
			continue
		}
		b, drained := all[0], e.asks(pods[i])
		if drained && len(all) > 1 {
			pods[i].Budget = fmt.Sprintf("%s and %s both cover it, and the eviction API refuses what more than one covers", b.Name, all[1].Name)
			continue
		}
		n := leaving[budgetKey{pods[i].Pod.Namespace, b.Name, drained}]
		if drained {
			pods[i].Budget = fmt.Sprintf("%s is obeyed: it allows %d now, %d of its pods are drained", b.Name, b.Allowed, n)
		} else {
			pods[i].Budget = fmt.Sprintf("%s is not asked: it allows %d, %d of its pods leave", b.Name, b.Allowed, n)
		}
	}
}

// asks says whether a pod that leaves is evicted through the eviction API.
func (e *evaluation) asks(v PodVerdict) bool {
	return v.Verdict == Drained && !e.change.Undrained[v.Pod.Node]
}

// Covering returns the PodDisruptionBudgets that cover a pod. The eviction API takes one
// at most (k8s.io/kubernetes v1.37.1 pkg/registry/core/pod/storage/eviction.go).
func (s *Snapshot) Covering(pod *Pod) []*Budget {
	var out []*Budget
	all := s.Budgets[pod.Namespace]
	for i := range all {
		if all[i].Selector.Matches(pod.Labels) {
			out = append(out, &all[i])
		}
	}
	return out
}
