// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package toleration knows lists of tolerations: which entry decides, what
// covers what, who owns which entry, and how a list is changed without losing
// what others wrote or what pods live by.
//
// It is pure: it reads no cluster and writes nothing.
package toleration
