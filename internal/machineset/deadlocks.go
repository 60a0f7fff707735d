// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Deadlock is a drain that cannot come to its end by itself.
type Deadlock struct {
	// Why reports what holds it, in a sentence about the PDB or the pod.
	Why string
	// Removed is set where it is wait_for = "removed" that makes it one.
	Removed bool
}

// covered is what a drain does to the pods of one PodDisruptionBudget.
type covered struct {
	namespace string
	budget    *snapshot.Budget
	// pods are all that are drained; gone those of them that never run again, and
	// awaiting those that run again on new machines alone.
	pods, gone, awaiting []string
}

// Deadlocks reports which drains of the report of MachineSets that roll out together never end by themselves, because a
// PodDisruptionBudget refuses for ever, whatever the strategy: the eviction API
// answers 429 as long as status.disruptionsAllowed is 0, and the drain tries again
// (semantics of k8s.io/kubernetes v1.37.1 pkg/registry/core/pod/storage/eviction.go
// and openshift/machine-api-operator pkg/controller/machine/drain_controller.go).
//
// A PDB gets back what it has allowed when the pod runs somewhere else. New
// machines come while the old ones drain with every strategy but scale_to_zero with
// wait_for = "removed": there pods that only they would take stay pending until every
// old machine is gone, and none that the PDB holds ever is.
func Deadlocks(s *snapshot.Snapshot, r *eviction.Report, group []Affected) []Deadlock {
	undrained := map[string]bool{}
	removed := false
	for _, a := range group {
		removed = removed || a.Effect.Gap.Removed && a.Effect.Strategy == ScaleToZero
		for _, m := range a.Machines {
			undrained[m.Node] = m.NoDrain
		}
	}
	var found []*covered
	var out []Deadlock
	for _, v := range r.Pods {
		if v.Verdict != eviction.Drained || undrained[v.Pod.Node] {
			continue
		}
		budgets := s.Budgets.Guarding(v.Pod)
		switch len(budgets) {
		case 0:
		case 1:
			found = note(found, r, v, budgets[0])
		default:
			out = append(out, Deadlock{Why: fmt.Sprintf("pod %s is covered by %d PodDisruptionBudgets (%s), and the eviction API refuses to evict it until only one does",
				v.Pod.Key(), len(budgets), snapshot.BudgetNames(budgets))})
		}
	}
	for _, c := range found {
		if d, held := c.deadlock(removed); held {
			out = append(out, d)
		}
	}
	return out
}

func note(found []*covered, r *eviction.Report, v eviction.PodVerdict, b *snapshot.Budget) []*covered {
	at := slices.IndexFunc(found, func(c *covered) bool { return c.budget == b })
	if at < 0 {
		at = len(found)
		found = append(found, &covered{namespace: v.Pod.Namespace, budget: b})
	}
	c := found[at]
	c.pods = append(c.pods, v.Pod.Key())
	switch {
	case b.Most == nil || *b.Most == 0:
		// It allows nothing, wherever its pods are placed.
	case r.Gone(v):
		c.gone = append(c.gone, v.Pod.Key())
	case len(r.Awaits(v)) > 0:
		c.awaiting = append(c.awaiting, v.Pod.Key())
	}
	return found
}

// deadlock compares how many pods are missing together at most with how many the
// PDB allows.
func (c *covered) deadlock(removed bool) (Deadlock, bool) {
	if c.budget.Most == nil {
		return Deadlock{}, false
	}
	name, most := fmt.Sprintf("PodDisruptionBudget %q", c.namespace+"/"+c.budget.Name), int(*c.budget.Most)
	switch {
	case most == 0:
		return Deadlock{Why: fmt.Sprintf("%s allows no eviction even when all of its pods are healthy, and %s to be drained (%s): the drain waits until the workload has more pods or the budget allows an unavailable pod",
			name, isAre(len(c.pods)), some(c.pods))}, true
	case len(c.gone) > most:
		return Deadlock{Why: fmt.Sprintf("%s allows %s, and %d that are to be drained cannot run anywhere else (%s): the drain waits until they can, or until the budget allows more",
			name, unavailable(most), len(c.gone), some(c.gone))}, true
	case removed && len(c.gone)+len(c.awaiting) > most:
		return Deadlock{Removed: true, Why: fmt.Sprintf("%s allows %s, and %d that are to be drained can run only on new machines (%s), which come when the last old one is gone: the drain and the new machines wait for each other",
			name, unavailable(most), len(c.awaiting), some(c.awaiting))}, true
	}
	return Deadlock{}, false
}

func unavailable(pods int) string {
	if pods == 1 {
		return "1 unavailable pod"
	}
	return fmt.Sprintf("%d unavailable pods", pods)
}

func isAre(pods int) string {
	if pods == 1 {
		return "1 of them is"
	}
	return fmt.Sprintf("%d of them are", pods)
}

// some names the first few.
func some(names []string) string {
	const few = 3
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}

// refuseDeadlocks reports which of the deadlocks another parameter would avoid: with
// wait_for = "removed" there would be no machine at all until the time is over.
func refuseDeadlocks(found []Deadlock) []Refusal {
	var out []Refusal
	for _, d := range found {
		if d.Removed {
			out = append(out, Refusal{Why: d.Why, Attribute: attributeWaitFor, Instead: "Use wait_for = \"marked_deleted\", with which new machines come while the old ones drain, or another strategy"})
		}
	}
	return out
}
