// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package printable makes text that others can write into the cluster safe to print.
package printable

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is how much of a text is printed, in characters. Answers of admission webhooks can be
// of any length.
const most = 2000

// commands are what pipelines take for commands in a log, wherever a line begins: those of
// GitHub Actions (https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands),
// Azure Pipelines (https://learn.microsoft.com/en-us/azure/devops/pipelines/scripts/logging-commands)
// and TeamCity (https://www.jetbrains.com/help/teamcity/service-messages.html).
var commands = regexp.MustCompile(`(^|\s)::+|##[A-Za-z0-9._-]*\[`)

// Line returns a text as part of one line: white space is a space, and a character that moves
// the cursor, changes the direction of the text or is not visible is U+FFFD. Commands of
// pipelines lose their meaning. Names of Kubernetes objects stay as they are.
func Line(s string) string {
	if s = legible(s); utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most]) + "…"
	}
	return s
}

// legible is Line for a text of any length.
func legible(s string) string {
	if plain(s) {
		return s
	}
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsPrint(r):
			return r
		default:
			return utf8.RuneError
		}
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	return commands.ReplaceAllStringFunc(s, func(command string) string {
		return strings.NewReplacer(":", ": ", "##", "# #").Replace(command)
	})
}

// plain reports whether a text consists of the characters of names, taints and tolerations alone. Two
// colons may be a command.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-./_=: ", rune(c)) || c == ':' && i > 0 && s[i-1] == ':' {
			return false
		}
	}
	return true
}
