// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package nodetaints is the resource kubetaint_node_taints: some taints of one
// node, or of the nodes matching a selector, beside whatever taints others
// have there.
package nodetaints
