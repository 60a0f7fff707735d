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
	var names []string
	for _, b := range budgets[p.Namespace] {
		if b.Allowed < 1 && b.Selector.Matches(p.Labels) {
			names = append(names, `"`+b.Name+`"`)
		}
	}
	if len(names) == 0 {
		return where + "has not been evicted yet"
	}
	return where + "is held by PodDisruptionBudget " + strings.Join(names, ", ") + ", which allows no eviction now"
}
