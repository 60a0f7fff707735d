// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

// Frame begins each line of a diagnostic in a terminal.
const Frame = "│ "
