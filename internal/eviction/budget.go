// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

type budgetKey struct {
	namespace, name string
	drained         bool
}

// coverByBudgets names the PodDisruptionBudget that covers each evicted pod. The arithmetic is over
// all nodes of the change: a PodDisruptionBudget counts all of its pods that are deleted in the same
// way. Taint eviction deletes pods and bypasses PodDisruptionBudgets, and so does a drain that
// deletes; any other drain goes through the eviction API, which obeys them.
func (e *evaluation) coverByBudgets(pods []PodVerdict) {
	leaving := map[budgetKey]int{}
	covering := make([][]*snapshot.Budget, len(pods))
	for i := range pods {
		if !pods[i].Leaves() || pods[i].Pod.Completed {
			continue
		}
		covering[i] = e.snapshot.Budgets.Covering(pods[i].Pod)
		if e.asks(pods[i]) {
			covering[i] = e.snapshot.Budgets.Guarding(pods[i].Pod)
		}
		if len(covering[i]) > 0 {
			leaving[budgetKey{pods[i].Pod.Namespace, covering[i][0].Name, e.asks(pods[i])}]++
		}
	}
	for i, all := range covering {
		if len(all) == 0 {
			continue
		}
		b, drained := all[0], e.asks(pods[i])
		if drained && len(all) > 1 {
			pods[i].Budget = fmt.Sprintf("%s and %s cover the same pods: the eviction API evicts no pod that more than one PodDisruptionBudget covers", b.Name, all[1].Name)
			continue
		}
		all := leaving[budgetKey{pods[i].Pod.Namespace, b.Name, drained}]
		pods[i].Budget = worth(b, all, drained)
		if all > int(b.Allowed) {
			pods[i].Beyond = &Beyond{Name: b.Name, Allowed: int(b.Allowed), Obeyed: drained}
		}
	}
}

// worth describes the effect of a PodDisruptionBudget on so many evictions of its pods.
func worth(b *snapshot.Budget, leaving int, drained bool) string {
	allows, and := "1 disruption", "and"
	if b.Allowed != 1 {
		allows = fmt.Sprintf("%d disruptions", b.Allowed)
	}
	if leaving > int(b.Allowed) {
		and = "but"
	}
	if drained {
		return fmt.Sprintf("%s is respected: it allows %s now, %s %d of its pods must be drained", b.Name, allows, and, leaving)
	}
	what := "are evicted"
	if leaving == 1 {
		what = "is evicted"
	}
	return fmt.Sprintf("%s is bypassed: it allows %s, %s %d of its pods %s", b.Name, allows, and, leaving, what)
}

// asks reports whether a pod is evicted through the eviction API.
func (e *evaluation) asks(v PodVerdict) bool {
	return v.Verdict == Drained && !e.change.Deletes && !e.change.Undrained[v.Pod.Node]
}
