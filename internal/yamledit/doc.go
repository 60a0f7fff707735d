// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package yamledit changes single lists and maps in YAML text that others write, and leaves every
// other byte of it as it is: comments, order, quotes, indentation and blank lines. The parser
// reports the places of values, and the text is spliced there. The result is parsed again: any outcome
// but the requested one is an error.
package yamledit
