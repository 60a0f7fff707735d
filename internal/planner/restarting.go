// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// RestartedOnto returns whose pods the changes of other resources of the run may evict because the steps restart them, and the
// names of the nodes of these changes: new pods may be placed there before. Planned is what other resources give to these
// workloads.
func RestartedOnto(s *snapshot.Snapshot, others *snapshot.Others, steps []Step, planned map[snapshot.WorkloadKey]eviction.Planned, comparison eviction.Comparison) ([]eviction.Restarting, []string) {
	own := map[snapshot.WorkloadKey]eviction.Planned{}
	for _, step := range steps {
		if step.Workload == nil || len(step.Pods) == 0 || step.Kind == Wait {
			continue
		}
		for _, key := range step.Workload.Pods {
			next := eviction.Planned{Before: step.Workload.Tolerations, After: step.Merged.Tolerations, Restarts: true, Keeps: step.Workload.Rolling.Keeps}
			next.Labels = joinedLabels(own[key].Labels, step.Pins.Changes)
			own[key] = next
		}
	}
	for key, next := range own {
		if known, is := planned[key]; is {
			own[key] = both(known, next)
		}
	}
	return eviction.Restarted(s, others, own, comparison)
}
