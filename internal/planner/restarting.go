// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// RestartedOnto returns whose pods the changes of other resources of the run may evict because the steps restart them: new pods
// may be placed on the nodes of these changes before they are made.
func RestartedOnto(s *snapshot.Snapshot, others *snapshot.Others, steps []Step, comparison eviction.Comparison) []eviction.Restarting {
	planned := map[snapshot.WorkloadKey]eviction.Planned{}
	for _, step := range steps {
		if step.Workload == nil || len(step.Pods) == 0 || step.Kind == Wait {
			continue
		}
		for _, key := range step.Workload.Pods {
			planned[key] = eviction.Planned{Before: step.Workload.Tolerations, After: step.Merged.Tolerations, Restarts: true, Labels: step.Pins.Changes}
		}
	}
	return eviction.Restarted(s, others, planned, comparison)
}
