// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
)

// awaitsNodes reports whether nodes are named that do not exist yet: they may have room for anything.
func (w wanted) awaitsNodes(s *snapshot.Snapshot) bool {
	return slices.ContainsFunc(w.nodes.Target.Named(), func(name string) bool { return s.Nodes[name] == nil })
}

// pinnable refuses to pin pods away from their volumes, and warns of nodes without room for all pods that are pinned to
// them. Nodes that are named and do not exist yet may have both.
func (r *dedicatedNodes) pinnable(desired wanted, observed observation, s *snapshot.Snapshot, plan planner.Plan, diags *diag.Diagnostics) bool {
	if desired.awaitsNodes(s) {
		return true
	}
	all, missing := plan.Pins()
	possible := true
	for _, p := range all {
		for _, one := range observed.members {
			if one.workload == p.Workload {
				possible = message.RefuseAway(p, one.at.Pin, diags) && possible
			}
		}
	}
	if possible {
		message.WarnCrowded(desired.place(), all, missing, path.Root("workloads"), diags)
	}
	return possible
}
