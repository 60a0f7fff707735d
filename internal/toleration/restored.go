// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package toleration

// Restored returns the marks of entries in a list that the claim's resource once gave up. A rollback
// of the object brings them back with their marks, as "kubectl rollout undo" does: a Deployment
// keeps its annotations in its ReplicaSets (k8s.io/kubectl v0.37.2 pkg/polymorphichelpers/rollback.go).
// They are not owned any more, since others can write an old mark, too.
func (c Claim) Restored(m Merged) Record {
	var out Record
	for _, mark := range m.Record {
		if mark.Path == c.Path && mark.Owner == c.Owner && mark.Generation == c.Generation && !c.names(mark.ID()) && !c.owns(mark) && stands(m.Tolerations, mark) >= 0 {
			out = append(out, mark)
		}
	}
	return out
}
