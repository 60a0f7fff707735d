// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Holds reports what keeps machines from going, one sentence each: pods that are left
// on their nodes with the PodDisruptionBudgets that forbid their eviction, and
// lifecycle hooks. A stuck drain shows in no condition of the Machine
// (openshift/machine-api-operator pkg/controller/machine/drain_controller.go).
func Holds(o Observed, s *snapshot.Snapshot, budgets snapshot.Budgets) []string {
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
// DaemonSets and the images of static pods (k8s.io/kubectl pkg/drain/filters.go), and on a node that cannot be
// reached those that terminate: no kubelet confirms that they are gone
// (openshift/machine-api-operator pkg/controller/machine/drain_controller.go, SkipWaitForDeleteTimeoutSeconds).
func drained(s *snapshot.Snapshot, node string) []*snapshot.Pod {
	n := s.Nodes[node]
	unreachable := n != nil && slices.ContainsFunc(n.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeUnreachable })
	pods := slices.DeleteFunc(slices.Clone(s.Pods[node]), func(p *snapshot.Pod) bool {
		return p.Mirror || p.Terminating && unreachable || p.Controller != nil && p.Controller.DaemonSet() && !p.Completed
	})
	slices.SortFunc(pods, (*snapshot.Pod).Compare)
	return pods
}

// holds reports why a pod is still there.
func holds(p *snapshot.Pod, budgets snapshot.Budgets) string {
	where := fmt.Sprintf("pod %s on node %s ", p.Key(), p.Node)
	if p.Terminating {
		return where + "is terminating"
	}
	guarding := budgets.Guarding(p)
	names := make([]string, len(guarding))
	for i, b := range guarding {
		names[i] = `"` + p.Namespace + "/" + b.Name + `"`
	}
	switch {
	case len(guarding) > 1:
		return where + "is covered by PodDisruptionBudgets " + strings.Join(names, ", ") + ", and the eviction API refuses to evict it until only one does"
	case len(guarding) == 1 && guarding[0].Allowed < 1 && !p.Ready:
		return where + "is held by PodDisruptionBudget " + names[0] + ", which currently allows no eviction; the pod is not ready, and unhealthyPodEvictionPolicy AlwaysAllow would allow it"
	case len(guarding) == 1 && guarding[0].Allowed < 1:
		return where + "is held by PodDisruptionBudget " + names[0] + ", which currently allows no eviction"
	}
	return where + "has not been evicted yet"
}
