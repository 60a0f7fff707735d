// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package kube is the only package that talks to a cluster: connection, paged
// reads into one shared snapshot, a watch that keeps it current while changes
// are applied, guarded patches, and the classes of errors.
//
// What it hands out are the types of package eviction, stripped of all that
// verdicts and ownership do not need, so that a large cluster fits in memory.
package kube
