// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Remnants are the taints that were ours and that machines still have since they left the
// template, by the UID of the machine: template_only leaves them there. Nothing in the cluster
// says whose they are, so that a resource remembers them until the machine has them no more.
// Another machine with the same taint has it from somebody else.
type Remnants map[types.UID][]corev1.Taint

// LeftBehind returns what the machines that are not being deleted, or their nodes, have of
// ours and the template lacks once what is desired is done.
func LeftBehind(o Observed, d Desired) Remnants {
	out, t := Remnants{}, d.Merge(o.Set)
	for _, m := range o.Machines {
		if m.Deleting {
			continue
		}
		n := o.Nodes[m.Node]
		for _, id := range t.on(m, n).Ours {
			if one, has := carried(m, n, id); has && taint.Find(t.Taints, id) < 0 {
				out[m.UID] = append(out[m.UID], one)
			}
		}
	}
	return out
}

// carried returns the entry that a machine has, itself or on its node; what somebody has marked
// on a node is theirs, and all of it may be where its record cannot be read.
func carried(m *Machine, n *eviction.Node, id taint.ID) (corev1.Taint, bool) {
	if at := taint.Find(m.Taints, id); at >= 0 {
		return bare(m.Taints[at]), true
	}
	if n == nil || n.RecordErr != nil {
		return corev1.Taint{}, false
	}
	at := taint.Find(n.Taints, id)
	if _, marked := n.Record.Of(id); at < 0 || marked {
		return corev1.Taint{}, false
	}
	return bare(n.Taints[at]), true
}

// on is the template as one machine and its node are measured by it: what was left behind
// there goes as well, for as long as it is as it was left.
func (t Template) on(m *Machine, n *eviction.Node) Template {
	ours := slices.Clone(t.Ours)
	for _, left := range t.remnants.of(m, n) {
		ours = append(ours, taint.IDOf(left))
	}
	t.Ours = slices.Compact(taint.SortIDs(ours))
	return t
}

// of returns what a machine still has as it was left.
func (r Remnants) of(m *Machine, n *eviction.Node) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(r[m.UID]), func(left corev1.Taint) bool {
		now, has := carried(m, n, taint.IDOf(left))
		return !has || now.Value != left.Value
	})
}

// Remaining returns what the machines of a MachineSet still have as it was left.
func (r Remnants) Remaining(o Observed) Remnants {
	out := Remnants{}
	for _, m := range o.Machines {
		if left := r.of(m, o.Nodes[m.Node]); !m.Deleting && len(left) > 0 {
			out[m.UID] = left
		}
	}
	return out
}
