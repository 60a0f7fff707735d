// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"strings"
)

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
		pods[i].Budget = b.worth(leaving[budgetKey{pods[i].Pod.Namespace, b.Name, drained}], drained)
	}
}

// worth words what a budget does about so many of its pods that leave.
func (b *Budget) worth(leaving int, drained bool) string {
	allows, and := "1 disruption", "and"
	if b.Allowed != 1 {
		allows = fmt.Sprintf("%d disruptions", b.Allowed)
	}
	if leaving > int(b.Allowed) {
		and = "but"
	}
	if drained {
		return fmt.Sprintf("%s is obeyed: it allows %s now, %s %d of its pods must be drained", b.Name, allows, and, leaving)
	}
	leave := "leave"
	if leaving == 1 {
		leave = "leaves"
	}
	return fmt.Sprintf("%s is ignored: it allows %s, %s %d of its pods %s", b.Name, allows, and, leaving, leave)
}

// asks says whether a pod that leaves is evicted through the eviction API.
func (e *evaluation) asks(v PodVerdict) bool {
	return v.Verdict == Drained && !e.change.Undrained[v.Pod.Node]
}

// Guarding returns the PodDisruptionBudgets that can refuse the eviction of a pod. More than
// one refuses always. None is asked for a pod that is pending, completed or terminating, nor
// for one that is not ready, if its budget has the policy AlwaysAllow or its other pods meet
// the budget (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction.go, Create and
// canIgnorePDB).
func (b Budgets) Guarding(pod *Pod) []*Budget {
	if pod.Pending || pod.Completed || pod.Terminating {
		return nil
	}
	covering := b.Covering(pod)
	if len(covering) == 1 && !pod.Ready && (covering[0].AlwaysAllow || covering[0].met()) {
		return nil
	}
	return covering
}

// met reports whether as many pods are healthy as there must be.
func (b *Budget) met() bool {
	return b.MinHealthy > 0 && b.Healthy >= b.MinHealthy
}

// Names lists budgets.
func Names(budgets []*Budget) string {
	names := make([]string, len(budgets))
	for i, b := range budgets {
		names[i] = b.Name
	}
	return strings.Join(names, ", ")
}

// Covering returns the PodDisruptionBudgets that cover a pod.
func (b Budgets) Covering(pod *Pod) []*Budget {
	var out []*Budget
	all := b[pod.Namespace]
	for i := range all {
		if all[i].Selector.Matches(pod.Labels) {
			out = append(out, &all[i])
		}
	}
	return out
}
