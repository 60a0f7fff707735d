// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// LeftBehind returns the entries that were ours and that the template lacks once what is
// desired is done, while a machine that is not being deleted, or its node, still has
// them: template_only leaves them there. Nothing in the cluster says whose they are, so that
// a resource remembers them until no machine has them any more.
func LeftBehind(o Observed, d Desired) []taint.ID {
	t := d.Merge(o.Set)
	return slices.DeleteFunc(slices.Clone(t.Ours), func(id taint.ID) bool {
		return taint.Find(t.Taints, id) >= 0 || len(o.Carrying(id)) == 0
	})
}

// Carrying returns the names of the machines that are not being deleted and that have one of
// some entries, themselves or on their node; what somebody has marked on a node is theirs.
func (o Observed) Carrying(ids ...taint.ID) []string {
	var out []string
	for _, m := range slices.SortedFunc(slices.Values(o.Machines), byName) {
		if !m.Deleting && slices.ContainsFunc(ids, func(id taint.ID) bool { return o.carries(m, id) }) {
			out = append(out, m.Name)
		}
	}
	return out
}

func (o Observed) carries(m *Machine, id taint.ID) bool {
	if taint.Find(m.Taints, id) >= 0 {
		return true
	}
	n := o.Nodes[m.Node]
	if n == nil || taint.Find(n.Taints, id) < 0 {
		return false
	}
	_, marked := n.Record.Of(id)
	return !marked
}
