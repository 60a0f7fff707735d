// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

// Returns is why new pods are on nodes that are to have none of them.
type Returns struct {
	// OnDrained is set where some are on drained nodes.
	OnDrained bool
	// Tolerating is set where some tolerate a taint for some seconds only, or the cordon of a drained node.
	Tolerating bool
	// Named is set where the template of some names its node (spec.nodeName): they bypass the scheduler, whatever taints it has.
	Named bool
}

func (r *Returns) addReturns(other Returns) {
	r.OnDrained, r.Tolerating, r.Named = r.OnDrained || other.OnDrained, r.Tolerating || other.Tolerating, r.Named || other.Named
}
