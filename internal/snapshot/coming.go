// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

// Coming is a kind of node that a change brings. Evicted pods may be recreated on
// one of these, though not before it is there.
type Coming struct {
	// Node is what each of them will look like, apart from its name.
	Node *Node
	// Like is the name of a node of the same kind that is there now: what runs on
	// every node, pods of DaemonSets and static pods, will hold room on the new ones.
	Like string
	// Of is what brings them, such as: MachineSet "openshift-machine-api/gpu".
	Of string
	// Count is how many come at most, 0 where that is not known.
	Count int
	// Surges is set where some are there before the first node is deleted, Overlaps where some are before the last one is.
	Surges, Overlaps bool
}
