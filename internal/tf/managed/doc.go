// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package managed holds what a Terraform type has beside its schema and its change: the data of the run, the
// private state with the ownership of what it has written, identities and imports, and lists.
package managed
