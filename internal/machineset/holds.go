// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
)

// Holds says what keeps machines from going, one sentence each: pods that are left
// on their nodes with the PodDisruptionBudgets that forbid their eviction, and
// lifecycle hooks. A stuck drain shows in no condition of the Machine
// (openshift/machine-api-operator pkg/controller/machine/drain_controller.go).
func Holds(o Observed, s *eviction.Snapshot, budgets map[string][]eviction.Budget) []string {
	var out []string
	for _, m := range slices.SortedFunc(slices.Values(o.Machines), byName) {
		if !m.Deleting {
			continue
		}
		for _, hook := range m.Hooks {
			out = append(out, fmt.Sprintf("the lifecycle hook %s holds %s", hook, m.Name))
		}
		if m.NoDrain {
			continue
		}
		for _, p := range drained(s, m.Node) {
			out = append(out, holds(p, budgets))
		}
	}
	return out
}

// drained are the pods that a drain of a node waits for: all but those of
// DaemonSets and the images of static pods (k8s.io/kubectl pkg/drain/filters.go).
func drained(s *eviction.Snapshot, node string) []*eviction.Pod {
	pods := slices.DeleteFunc(slices.Clone(s.Pods[node]), func(p *eviction.Pod) bool {
		return p.Mirror || p.Controller != nil && p.Controller.Kind == "DaemonSet" && !p.Completed
	})
	slices.SortFunc(pods, (*eviction.Pod).Compare)
	return pods
}

// holds says why a pod is still there.
func holds(p *eviction.Pod, budgets map[string][]eviction.Budget) string {
	where := fmt.Sprintf("pod %s on node %s ", p.Key(), p.Node)
	if p.Terminating {
		return where + "is terminating"
	}
	var covering, holding []string
	for _, b := range budgets[p.Namespace] {
		if !b.Selector.Matches(p.Labels) {
			continue
		}
		name := `"` + p.Namespace + "/" + b.Name + `"`
		covering = append(covering, name)
		if b.Allowed < 1 {
			holding = append(holding, name)
		}
	}
	switch {
	case len(covering) > 1:
		// The eviction API wants one at most (k8s.io/kubernetes v1.37.1
		// pkg/registry/core/pod/storage/eviction.go, Create).
		return where + "is covered by PodDisruptionBudgets " + strings.Join(covering, ", ") + ", and the eviction API refuses to evict it until only one does"
	case len(holding) == 1:
		return where + "is held by PodDisruptionBudget " + holding[0] + ", which allows no eviction now"
	}
	return where + "has not been evicted yet"
}
