// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Unnamed returns what the plans remove from nodes and the attributes of a resource do not show, such as
// taint spot:NoSchedule, with the names of the nodes: what an interrupted update has left there, and what
// nodes lose that do not match any more. taints and keys are the entries that configuration or state name.
func Unnamed(nodes NodePlan, labels LabelPlan, taints []taint.ID, keys []string) map[string][]string {
	out := map[string][]string{}
	for _, s := range nodes.Switches {
		for _, id := range removed(s.Node, s.Merged) {
			if s.Leaving || !slices.Contains(taints, id) {
				entry := "taint " + id.String()
				out[entry] = append(out[entry], s.Node.Name)
			}
		}
	}
	for _, s := range labels.Switches {
		for _, key := range s.Merged.Removed {
			if s.Leaving || !slices.Contains(keys, key) {
				out["label "+key] = append(out["label "+key], s.Node.Name)
			}
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}
