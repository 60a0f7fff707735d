// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package taint

import corev1 "k8s.io/api/core/v1"

// Restored returns the taints of a list that have a mark of the claim's resource which does not count
// any more: a backup of the object brings them back, or another writer has written an old mark, or copied one.
func (c Claim) Restored(list []corev1.Taint, record Record) []ID {
	var out []ID
	for _, mark := range record {
		if mark.Owner == c.Owner && mark.Generation == c.Generation && !mark.Absent && Find(list, mark.ID()) >= 0 && !c.owns(mark) && Ownable(mark.ID()) {
			out = append(out, mark.ID())
		}
	}
	return out
}
