// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"strings"

	"k8s.io/apimachinery/pkg/labels"
)

// Budgets are PodDisruptionBudgets by namespace.
type Budgets map[string][]Budget

// Budget is a PodDisruptionBudget.
type Budget struct {
	Name     string
	Selector labels.Selector
	// Allowed is status.disruptionsAllowed.
	Allowed int32
	// Healthy is status.currentHealthy, and MinHealthy status.desiredHealthy.
	Healthy, MinHealthy int32
	// AlwaysAllow is set for the unhealthyPodEvictionPolicy of that name.
	AlwaysAllow bool
	// Most is what it allows when all of its pods are healthy, nil where that is not
	// known: status.expectedPods less status.desiredHealthy
	// (k8s.io/kubernetes v1.37.2 pkg/controller/disruption/disruption.go).
	Most *int32
	// Failing is set where its controller cannot find out how many pods there are to be, such as those of a Job, and Uncounted
	// where it counts none, such as bare pods. Both allow no eviction for as long (disruption.go, getExpectedScale, failSafe and updatePdbStatus).
	Failing, Uncounted bool
	// CountsPods is set for a number in minAvailable: expectedPods are all matching pods then, also those that are over or
	// terminating, and none that are to be created (disruption.go, getExpectedPodCount).
	CountsPods bool
	// Disrupted are the names of status.disruptedPods: pods whose eviction has been granted, which Allowed
	// leaves out already. It is nil for none.
	Disrupted map[string]bool
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

// Guarding returns the PodDisruptionBudgets that can refuse the eviction of a pod. More than
// one refuses always. None is asked for a pod that is pending, completed or terminating, nor
// for one that is not ready, if its PDB has the policy AlwaysAllow or its other pods meet
// the PDB (k8s.io/kubernetes v1.37.2 pkg/registry/core/pod/storage/eviction.go, Create and
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

// BudgetNames lists PDBs by name, as in a sentence.
func BudgetNames(budgets []*Budget) string {
	names := make([]string, len(budgets))
	for i, b := range budgets {
		names[i] = b.Name
	}
	return strings.Join(names, ", ")
}
