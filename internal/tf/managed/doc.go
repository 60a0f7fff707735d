// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package managed holds what Terraform calls of every resource and action, written once: see Skeleton and Action. Types
// add the hooks of Model and Type. It also has the private state with the ownership of what a resource has written,
// identities and imports, and lists.
package managed
