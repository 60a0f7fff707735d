// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

import corev1 "k8s.io/api/core/v1"

// Restored returns the entries of a list that the claim's resource once gave up. A rollback
// of the object brings them back with their marks, as "kubectl rollout undo" does: a Deployment
// keeps its annotations in its ReplicaSets (k8s.io/kubectl v0.37.2 pkg/polymorphichelpers/rollback.go).
// They are not owned any more, since others can write an old mark, too.
func (c Claim) Restored(list []corev1.Toleration, record Record) []corev1.Toleration {
	var out []corev1.Toleration
	for _, mark := range record {
		if mark.Path == c.Path && mark.Owner == c.Owner && mark.Generation == c.Generation && !c.names(mark.ID()) && !c.owns(mark) && stands(list, mark) >= 0 {
			out = append(out, mark.Toleration())
		}
	}
	return out
}
