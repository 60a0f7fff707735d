// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Machines are those of OpenShift, by namespace/name. What one has, the nodelink controller
// restores on its node within a second (openshift/machine-api-operator
// pkg/controller/nodelink/nodelink_controller.go, updateNodeLabels and addTaintsToNode): such an
// entry is removed from the Machine first, or stays.
type Machines map[string]*machineset.Machine

// HasTaint reports whether the Machine of a node has a taint of this key and effect.
func (m Machines) HasTaint(n *snapshot.Node, id taint.ID) bool {
	machine, known := m[n.Machine]
	return known && taint.Find(machine.Taints, id) >= 0
}

// carriedLabel returns the value of a label that the Machine of a node carries.
func (m Machines) carriedLabel(n *snapshot.Node, key string) (value string, carries bool) {
	machine, known := m[n.Machine]
	if known {
		value, carries = machine.Labels[key]
	}
	return value, carries
}

// NeedMachines reports whether a plan of these changes requires the Machines of nodes: it does if
// entries are removed from a node that has one, or must stay absent from it.
func NeedMachines(nodes []*snapshot.Node, taints NodeTaints, labels NodeLabels) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool {
		if n.Machine == "" {
			return false
		}
		return len(taints.Claim.Absent) > 0 && !taints.Claim.Release && taints.Target.Matches(n) ||
			len(removed(n, MergeNode(n, taints))) > 0 || len(MergeLabels(n, labels).Changes) > 0
	})
}

// putBack returns why entries of a node are not removed from it: the controller that restores
// them, and where they must be removed.
func (d NodeTaints) putBack(n *snapshot.Node, merged taint.Merged) []Refusal {
	var out []Refusal
	refuse := func(id taint.ID, why string) {
		if !slices.Contains(d.Claim.Absent, id) {
			why += "; until then, leave it in the configuration"
		}
		out = append(out, Refusal{Node: n.Name, ID: id, Why: why})
	}
	for _, id := range slices.Compact(slices.SortedFunc(slices.Values(slices.Concat(d.Claim.Absent, removed(n, merged))), taint.ID.Compare)) {
		switch {
		case n.MachineConfig && controlPlane(id):
			refuse(id, "OpenShift's machine-config operator restores it: change mastersSchedulable of the Scheduler named \"cluster\" instead")
		case d.Machines.HasTaint(n, id):
			refuse(id, "the node's Machine "+n.Machine+" has it, and OpenShift restores it within seconds: remove it from the MachineSet's template and the Machine's spec.taints first")
		}
	}
	return out
}

// putBack returns the same for labels. Nodelink also gives a label of the node the value that the
// Machine has.
func (d NodeLabels) putBack(n *snapshot.Node, merged label.Merged) []Refusal {
	var out []Refusal
	refuse := func(key, why string) {
		out = append(out, Refusal{Node: n.Name, Labels: true, Why: "label " + key + ": the node's Machine " + n.Machine + " has " + why})
	}
	for _, key := range slices.Sorted(maps.Keys(merged.Changes)) {
		carried, carries := d.Machines.carriedLabel(n, key)
		switch wanted := merged.Changes[key]; {
		case !carries:
		case wanted == nil:
			refuse(key, "it, and OpenShift restores it within seconds: remove it from the MachineSet's template and the Machine's spec.metadata.labels first; until then, leave it in the configuration")
		case *wanted != carried:
			refuse(key, "the value \""+carried+"\", and OpenShift sets it on the node within seconds: change it in the MachineSet's template and the Machine's spec.metadata.labels")
		}
	}
	return out
}

// PutBack returns the labels that a plan removes from nodes that are given up, and that OpenShift
// restores, such as label tier, with the names of the nodes. On targeted nodes they are refused
// instead.
func PutBack(labels LabelPlan, machines Machines) map[string][]string {
	out := map[string][]string{}
	for _, s := range labels.Switches {
		for _, key := range s.Merged.Removed {
			if _, carries := machines.carriedLabel(s.Node, key); carries {
				out["label "+key] = append(out["label "+key], s.Node.Name)
			}
		}
	}
	return sorted(out)
}
