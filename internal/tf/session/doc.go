// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package fw holds the Terraform pieces that more than one type needs: what the
// provider hands to its resources, nested attributes, validators, the limits of
// evictions, and the wording of diagnostics.
package session
