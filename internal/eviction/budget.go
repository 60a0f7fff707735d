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
	covering := make([]*Budget, len(pods))
	for i := range pods {
		if !pods[i].Leaves() || pods[i].Pod.Completed {
			continue
		}
		if covering[i] = e.budget(pods[i].Pod); covering[i] != nil {
			leaving[budgetKey{pods[i].Pod.Namespace, covering[i].Name, e.asks(pods[i])}]++
		}
	}
	for i, b := range covering {
		if b == nil {
			continue
		}
		drained := e.asks(pods[i])
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

func (e *evaluation) budget(pod *Pod) *Budget {
	budgets := e.snapshot.Budgets[pod.Namespace]
	for i := range budgets {
		if budgets[i].Selector.Matches(pod.Labels) {
			return &budgets[i]
		}
	}
	return nil
}
