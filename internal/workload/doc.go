// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package workload knows the kinds of objects that carry tolerations for pods:
// where the list stands, how the pods follow a change of it, and who else writes
// it.
//
// It is pure: it reads no cluster and writes nothing.
package workload
