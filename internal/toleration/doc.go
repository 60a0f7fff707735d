// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package toleration implements the rules for lists of tolerations: which entry
// decides, what covers what, who owns which entry, and how a list changes without
// losing entries of other writers or entries that pods need.
//
// It is pure: it reads no cluster and writes nothing.
package toleration
