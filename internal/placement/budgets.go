// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// budgets are what PodDisruptionBudgets still allow.
type budgets struct {
	// evicted are the pods that the change evicts, by namespace, spent how many of a PodDisruptionBudget's
	// pods are gone at a moment.
	evicted map[string][]*snapshot.Pod
	spent   map[budgetAt]int32
	// preempted counts the ready pods that preemption, and failed Jobs, have evicted in this order. Early are the moments at which
	// the change would have evicted others of them: they are among the spent ones from then on.
	preempted map[*snapshot.Budget]int32
	early     map[*snapshot.Budget][]int64
	// recovered counts the replacements that are ready by the moment at: it is nil where they are not counted yet.
	recovered map[*snapshot.Budget]int32
	at        int64
}

type budgetAt struct {
	budget *snapshot.Budget
	moment int64
}

// allowed returns how many more pods of a PodDisruptionBudget may be evicted now: ready ones that the change
// evicts count as gone.
func (b *budgets) allowed(s *simulation, budget *snapshot.Budget, namespace string) int32 {
	if b.evicted == nil {
		b.evicted, b.spent = map[string][]*snapshot.Pod{}, map[budgetAt]int32{}
		for pod := range s.evicted {
			if pod.Ready && !pod.Terminating {
				b.evicted[pod.Namespace] = append(b.evicted[pod.Namespace], pod)
			}
		}
	}
	key := budgetAt{budget, s.moment}
	spent, known := b.spent[key]
	if !known {
		for _, pod := range b.evicted[namespace] {
			if s.evicted[pod] <= s.moment && budget.Selector.Matches(pod.Labels) && !budget.Disrupted[pod.Name] {
				spent++
			}
		}
		b.spent[key] = spent
	}
	for _, planned := range b.early[budget] {
		if planned > s.moment {
			spent++
		}
	}
	return budget.Allowed - spent - b.preempted[budget] + b.ready(s)[budget]
}

// ready counts the replacements of ready pods that were placed at an earlier moment: in some orders they are ready
// by now, and their PodDisruptionBudgets allow as many more evictions.
func (b *budgets) ready(s *simulation) map[*snapshot.Budget]int32 {
	if !s.recovers || b.recovered != nil && b.at == s.moment {
		return b.recovered
	}
	b.recovered, b.at = map[*snapshot.Budget]int32{}, s.moment
	for _, r := range s.replacements {
		if r.node < 0 || r.nominee || r.bound >= s.moment || r.waiting || r.successor || !r.pod.Ready {
			continue
		}
		for _, budget := range s.snapshot.Budgets.Covering(r.pod) {
			if !budget.Disrupted[r.pod.Name] {
				b.recovered[budget]++
			}
		}
	}
	return b.recovered
}

// spendEarly counts a victim that the change would evict later on.
func (b *budgets) spendEarly(s *simulation, pod *snapshot.Pod) {
	if b.early == nil {
		b.early = map[*snapshot.Budget][]int64{}
	}
	b.disrupt(s, pod, func(budget *snapshot.Budget) { b.early[budget] = append(b.early[budget], s.evicted[pod]) })
}

// spend counts a victim.
func (b *budgets) spend(s *simulation, pod *snapshot.Pod) {
	if b.preempted == nil {
		b.preempted = map[*snapshot.Budget]int32{}
	}
	b.disrupt(s, pod, func(budget *snapshot.Budget) { b.preempted[budget]++ })
}

// disrupt calls do with the PodDisruptionBudgets that have one healthy pod less without a pod: none for one that is not ready
// (k8s.io/kubernetes v1.37.2 pkg/controller/disruption/disruption.go, countHealthyPods).
func (b *budgets) disrupt(s *simulation, pod *snapshot.Pod, do func(*snapshot.Budget)) {
	if !pod.Ready {
		return
	}
	for _, budget := range s.snapshot.Budgets.Covering(pod) {
		if !budget.Disrupted[pod.Name] {
			do(budget)
		}
	}
}

// split tells the pods whose PodDisruptionBudgets do not allow to evict them from the others. The order is
// that in which PodDisruptionBudgets are spent (util.go, FilterVictimsWithPDBViolation): an empty selector, and
// pods without labels, match nothing, and a pod whose eviction has been granted violates nothing.
func (b *budgets) split(s *simulation, pods []occupant) (protected, others []occupant) {
	left := map[*snapshot.Budget]int32{}
	for _, o := range pods {
		violates := false
		for _, budget := range s.snapshot.Budgets.Covering(o.pod) {
			if len(o.pod.Labels) == 0 || budget.Selector.Empty() || violates || budget.Disrupted[o.pod.Name] {
				continue
			}
			if _, known := left[budget]; !known {
				left[budget] = b.allowed(s, budget, o.pod.Namespace)
			}
			left[budget]--
			violates = left[budget] < 0
		}
		if violates {
			protected = append(protected, o)
		} else {
			others = append(others, o)
		}
	}
	return protected, others
}
