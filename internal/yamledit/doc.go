// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package yamledit changes single lists and maps in YAML text that others write, and leaves every
// other byte of it as it is: comments, order, quotes, indentation and blank lines. The parser tells
// where values stand, and the text is spliced there. What comes out is parsed again: a change that
// would have come out as anything but what was asked for is an error, and writes nothing.
package yamledit
