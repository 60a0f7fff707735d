// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import "strings"

// Fit breaks the indented lines of a detail that are wider than a table: command lines wrap all other lines, and leave these to the
// terminal (Terraform's internal/command/format/diagnostic.go). What is broken off is indented further.
// A line with a command stays whole, to be pasted.
func Fit(detail string) string {
	lines := strings.Split(detail, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, " ") && width(line) > Width && !strings.Contains(line, "kubectl ") {
			lines[i] = broken(line)
		}
	}
	return strings.Join(lines, "\n")
}

// broken breaks a line at spaces. A word that is wider than a line stays whole.
func broken(line string) string {
	text := strings.TrimLeft(line, " ")
	indent := strings.Repeat(" ", len(line)-len(text))
	further := indent + "    "
	var b strings.Builder
	at := 0
	for i, word := range strings.Split(text, " ") {
		switch {
		case i == 0:
			b.WriteString(indent)
			at = len(indent)
		case at+1+width(word) > Width:
			b.WriteString("\n" + further)
			at = len(further)
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += width(word)
	}
	return b.String()
}
