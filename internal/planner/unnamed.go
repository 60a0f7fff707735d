// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
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
	return sorted(out)
}

// UnnamedInSets returns the same for MachineSets: what leaves their templates. The target
// selects those that are meant.
func UnnamedInSets(sets MachineSets, target *machineset.Target, taints []taint.ID, keys []string) map[string][]string {
	out := map[string][]string{}
	for _, c := range sets.Sets {
		after, leaves := machineset.Plan(c.Observed, c.Desired).Template, target == nil || !target.Matches(c.Set)
		for _, t := range c.Set.Taints {
			if id := taint.IDOf(t); after.Changed && taint.Find(after.Taints, id) < 0 && (leaves || !slices.Contains(taints, id)) {
				out["taint "+id.String()] = append(out["taint "+id.String()], c.Set.Key())
			}
		}
		for _, key := range machineset.PlanLabels(c.Observed, c.Labels).Template.Removed {
			if leaves || !slices.Contains(keys, key) {
				out["label "+key] = append(out["label "+key], c.Set.Key())
			}
		}
	}
	return sorted(out)
}

// UnnamedInWorkloads returns the same for the templates of workloads. named returns the entries that
// configuration or state name for a workload, none for one that neither names.
func UnnamedInWorkloads(steps []Step, named func(workload.Ref) (tolerations []toleration.ID, pins []string)) map[string][]string {
	out := map[string][]string{}
	for _, s := range steps {
		if s.Workload == nil || s.Retained {
			continue
		}
		tolerations, pins := named(s.Workload.Ref)
		for _, t := range s.Merged.Removed {
			if !slices.Contains(tolerations, toleration.IDOf(t)) {
				entry := "toleration " + toleration.Format([]corev1.Toleration{t})
				out[entry] = append(out[entry], s.Workload.Grouped())
			}
		}
		for _, key := range s.Pins.Removed {
			if !slices.Contains(pins, key) {
				out["node selector "+key] = append(out["node selector "+key], s.Workload.Grouped())
			}
		}
	}
	return sorted(out)
}

// sorted has the names of each entry sorted, each once.
func sorted(entries map[string][]string) map[string][]string {
	for entry, names := range entries {
		slices.Sort(names)
		entries[entry] = slices.Compact(names)
	}
	return entries
}
