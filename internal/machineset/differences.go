// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Extra is a taint that the template does not have.
const Extra taint.Status = "extra"

// Difference is one taint in which a Machine, or its node, is not as the template
// would make it now, whatever its owner.
type Difference struct {
	// OnNode reports that it is the node that differs.
	OnNode bool
	// Taint is the template's, or the one that the template does not have.
	Taint corev1.Taint
	// How is taint.Missing, taint.Different where the value is another, or Extra.
	How taint.Status
}

// Differences compares a Machine and its node with the template, sorted by taint;
// nothing of one that is being deleted. What a node has beside the template counts
// where it has no owner, and no controller keeps it.
func Differences(o Observed, m *Machine) []Difference {
	if m.Deleting {
		return nil
	}
	out := differences(o.Set.Taints, m.Taints)
	n := o.Nodes[m.Node]
	if n == nil {
		return out
	}
	for _, d := range differences(o.Set.Taints, n.Taints) {
		_, marked := n.Record.Of(taint.IDOf(d.Taint))
		_, reserved := taint.Reserved(taint.IDOf(d.Taint), d.Taint.Value)
		if d.How == Extra && (marked || reserved || taint.SystemKey(taint.IDOf(d.Taint))) {
			continue
		}
		d.OnNode = true
		out = append(out, d)
	}
	return out
}

func differences(template, list []corev1.Taint) []Difference {
	var out []Difference
	for _, t := range template {
		switch at := taint.Find(list, taint.IDOf(t)); {
		case at < 0:
			out = append(out, Difference{Taint: bare(t), How: taint.Missing})
		case list[at].Value != t.Value:
			out = append(out, Difference{Taint: bare(t), How: taint.Different})
		}
	}
	for _, t := range list {
		if taint.Find(template, taint.IDOf(t)) < 0 {
			out = append(out, Difference{Taint: bare(t), How: Extra})
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return taint.IDOf(a.Taint).Compare(taint.IDOf(b.Taint)) })
	return out
}
