// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package uncordonnodes is the action kubetaint_uncordon_nodes: it lets pods in again on nodes that a
// drain or another user has cordoned.
package uncordonnodes
