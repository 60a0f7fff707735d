// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package nodesdata is the data source kubetaint_nodes: nodes, their taints,
// and whose these are.
package nodesdata
