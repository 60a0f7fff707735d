// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package message holds the wording of diagnostics, tables and Markdown: what a plan evicts, what an apply has
// refused or waits for, and what to do. It knows no attribute of a schema but by name, and nothing of the run.
package message
