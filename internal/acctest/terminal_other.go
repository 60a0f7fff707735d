// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

//go:build !linux

package acctest

// InTerminal returns nil: terminals are made on Linux alone.
func (c *CLI) InTerminal(uint16, ...string) []string { return nil }
