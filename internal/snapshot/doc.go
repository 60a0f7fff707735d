// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package snapshot holds the observed cluster in slim form: nodes, pods, their owners,
// PodDisruptionBudgets, volumes that bind pods to nodes, and templates of DaemonSets.
//
// It is pure, and it decides nothing: it looks things up. What happens to pods is decided by
// package eviction, and where their replacements fit by package placement.
package snapshot
