// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Machines are those of OpenShift, by namespace/name. What one carries, the nodelink controller
// puts on its node again within a second (openshift/machine-api-operator
// pkg/controller/nodelink/nodelink_controller.go, updateNodeLabels and addTaintsToNode): such an
// entry is not removed from a node, but from the Machine.
type Machines map[string]*machineset.Machine

// CarriesTaint reports whether the Machine of a node carries a taint of this key and effect.
func (m Machines) CarriesTaint(n *snapshot.Node, id taint.ID) bool {
	machine, known := m[n.Machine]
	return known && taint.Find(machine.Taints, id) >= 0
}

// carriesLabel reports whether the Machine of a node carries a label of this key.
func (m Machines) carriesLabel(n *snapshot.Node, key string) bool {
	machine, known := m[n.Machine]
	if !known {
		return false
	}
	_, carries := machine.Labels[key]
	return carries
}

// NeedMachines reports whether a plan of these changes has to know the Machines of nodes: where
// entries go from a node that has one, or have to stay away from it.
func NeedMachines(nodes []*snapshot.Node, taints NodeTaints, labels NodeLabels) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool {
		if n.Machine == "" {
			return false
		}
		return len(taints.Claim.Absent) > 0 && !taints.Claim.Release && taints.Target.Matches(n) ||
			len(removed(n, MergeNode(n, taints))) > 0 || len(MergeLabels(n, labels).Removed) > 0
	})
}

// putBack returns why entries of a node are not removed from it: who puts them back, and where
// they have to be removed.
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
			refuse(id, "OpenShift's machine-config operator puts it back: change mastersSchedulable of the Scheduler named \"cluster\" instead")
		case d.Machines.CarriesTaint(n, id):
			refuse(id, "the node's Machine "+n.Machine+" carries it, and OpenShift puts it back within seconds: take it out of the MachineSet's template and the Machine's spec.taints first")
		}
	}
	return out
}

// PutBack returns the entries that the plans take from nodes that are given up, and that OpenShift
// puts back, such as taint spot:NoSchedule, with the names of the nodes. On nodes that are meant
// they are refused instead.
func PutBack(nodes NodePlan, labels LabelPlan, machines Machines) map[string][]string {
	out := map[string][]string{}
	add := func(entry string, n *snapshot.Node) { out[entry] = append(out[entry], n.Name) }
	for _, s := range nodes.Switches {
		for _, id := range removed(s.Node, s.Merged) {
			if machines.CarriesTaint(s.Node, id) || s.Node.MachineConfig && controlPlane(id) {
				add("taint "+id.String(), s.Node)
			}
		}
	}
	for _, s := range labels.Switches {
		for _, key := range s.Merged.Removed {
			if machines.carriesLabel(s.Node, key) {
				add("label "+key, s.Node)
			}
		}
	}
	return sorted(out)
}
