// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package drainnodes is the action kubetaint_drain_nodes: it cordons nodes and evicts
// their pods as PodDisruptionBudgets allow.
package drainnodes
