// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// policy reports whether the controller of a pod creates its pods one after the other, and whether that is
// not known: there may be no right to read its StatefulSet.
func (e *evaluation) policy(pod *snapshot.Pod, owner snapshot.Owner) (ordered, unknown bool) {
	if !owner.StatefulSet() {
		return false, false
	}
	ordered, known := e.snapshot.Ordered[snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: owner}]
	return ordered || !known, !known
}

// behind words what a StatefulSet waits for before it creates a pod.
func behind(g *placement.Group) string {
	out := "; not recreated before the Pending pods of its StatefulSet"
	if g.Behind != nil {
		out = "; not recreated by its StatefulSet until " + g.Behind.Name + " is ready"
	}
	if g.Fate == placement.DependsOnOrder {
		out += ", unless its podManagementPolicy is Parallel"
	}
	return out
}
