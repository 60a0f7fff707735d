// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"regexp"
	"strings"
)

// Colours of a terminal, and the frame around a diagnostic.
var (
	colours    = regexp.MustCompile("\x1b\\[[0-9;]*m")
	decoration = regexp.MustCompile(colours.String() + "|[│╷╵]")
)

// Unfold returns what a command line has printed without colours and frames, and with
// one space where it has broken a line.
func Unfold(printed string) string {
	return strings.Join(strings.Fields(decoration.ReplaceAllString(printed, "")), " ")
}
