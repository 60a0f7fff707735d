// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

// Reading is how pods are read for a change of nodes.
type Reading int

// The ways of reading. All but the first are for tests, which get the same results by each of them.
const (
	// ReadCheaper reads the pods of the changed nodes first where that is cheaper.
	ReadCheaper Reading = iota
	// ReadNodesFirst reads them first however many nodes change.
	ReadNodesFirst
	// ReadAllPods reads all pods of the cluster.
	ReadAllPods
)

// podsPerNode is how many pods a node has at most in a cluster as Kubernetes is designed for
// (https://kubernetes.io/docs/setup/best-practices/cluster-large/).
const podsPerNode = 110

// listsAllowed returns how many lists of the pods of one node a run may make in a cluster of so
// many pods: two thirds of the pages of a list of all pods. Each is cheaper than a page, and a run
// that lists all pods after them has made two thirds more requests for pods than it needed.
func listsAllowed(pods int) int {
	pages := (pods + pageSize - 1) / pageSize
	return pages * 2 / 3
}

// nodesFirst reports whether the pods of nodes are listed node by node: of as many nodes as lists
// are missing, after so many lists of the run before. It is ReadCheaper's rule.
func nodesFirst(missing, before, pods int) bool {
	return before+missing <= listsAllowed(pods)
}
