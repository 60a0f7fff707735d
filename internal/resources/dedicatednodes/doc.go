// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package dedicatednodes is the resource kubetaint_dedicated_nodes: nodes that
// are kept for some workloads, by taints and labels on the nodes and by
// tolerations and node selectors of the workloads, changed in the one order in
// which no pod is evicted.
package dedicatednodes
