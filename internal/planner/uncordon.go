// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"cmp"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Uncordons reports whether an uncordon writes a node. One that takes pods is written only if it has a
// record of a drain: a later drain would wait for what that one has evicted.
func Uncordons(n *snapshot.Node) bool { return n.Unschedulable || n.Awaited != "" }

// BeingDeleted is a node that is being deleted.
type BeingDeleted struct {
	Node string
	// Machine is set where the node's Machine is being deleted, and the node is not yet.
	Machine string
}

// NeedMachinesOf reports whether an uncordon requires the Machines of nodes.
func NeedMachinesOf(nodes []*snapshot.Node) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool { return n.Machine != "" && n.Unschedulable && !n.Deleting })
}

// BeingDeleted returns which cordoned nodes are being deleted, by name: new pods on them are evicted
// again, or end with the node.
func (m Machines) BeingDeleted(nodes []*snapshot.Node) []BeingDeleted {
	var out []BeingDeleted
	for _, n := range nodes {
		machine, known := m[n.Machine]
		switch {
		case !n.Unschedulable:
		case n.Deleting:
			out = append(out, BeingDeleted{Node: n.Name})
		case known && machine.Deleting:
			out = append(out, BeingDeleted{Node: n.Name, Machine: machine.Key()})
		}
	}
	slices.SortFunc(out, func(a, b BeingDeleted) int { return cmp.Compare(a.Node, b.Node) })
	return out
}
