// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Owned are taints of one list that one owner has marked.
type Owned struct {
	// Owner is empty for foreign ones.
	Owner string
	// Taints are sorted by identity.
	Taints []corev1.Taint
}

// ByOwner groups a list by who has marked its entries, those without an owner
// first. What belongs to a controller, or is marked as one that should not be there,
// can be without an owner, and is left out.
func ByOwner(list []corev1.Taint, record Record) []Owned {
	var out []Owned
	for _, t := range Sort(slices.Clone(list)) {
		id := IDOf(t)
		mark, _ := record.Of(id)
		if _, reserved := Reserved(id, ""); reserved || SystemKey(id) || mark.Absent {
			continue
		}
		at := slices.IndexFunc(out, func(o Owned) bool { return o.Owner == mark.Owner })
		if at < 0 {
			at, out = len(out), append(out, Owned{Owner: mark.Owner})
		}
		out[at].Taints = append(out[at].Taints, t)
	}
	slices.SortFunc(out, func(a, b Owned) int { return strings.Compare(a.Owner, b.Owner) })
	return out
}
