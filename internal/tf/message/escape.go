// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"regexp"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// inMarkdown takes the meaning from characters that Markdown gives one: names and
// selectors come from the cluster and the configuration.
var inMarkdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", "&", "&amp;", "~", `\~`, apart, "&#8203;",
)

// apart is a space without a width. GitHub and GitLab read entities before they look for mentions, links and
// references, so that an entity in the place of the character itself would prevent none of these.
const apart = "\u200b"

// Mentions and links begin with one of these texts. References begin with these characters
// (https://docs.github.com/en/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls,
// https://docs.gitlab.com/user/markdown/#gitlab-specific-references). Hashes of commits are left: names of pods look like them.
var (
	links      = strings.NewReplacer("@", "@"+apart, "://", ":"+apart+"//", "www.", "www"+apart+".")
	references = regexp.MustCompile(`([#!$&])(\d)|([%~\[])([\pL\pN"])`)
	issues     = regexp.MustCompile(`(?i)(\bgh-)(\d)`)
)

// MarkdownText returns a text as part of a line of Markdown that looks like the text as it can be printed. It has
// no mentions, links and references.
func MarkdownText(s string) string {
	s = links.Replace(printable.Line(s))
	s = references.ReplaceAllString(s, "$1$3"+apart+"$2$4")
	return inMarkdown.Replace(issues.ReplaceAllString(s, "$1"+apart+"$2"))
}

// MarkdownCode returns a text as code in a line of Markdown, outside of tables. Only the backtick has a
// meaning in code.
func MarkdownCode(s string) string {
	return "`" + strings.ReplaceAll(printable.Line(s), "`", "'") + "`"
}

// DiagramText returns a text as part of a label in a Mermaid diagram, whose syntax has no escapes:
// what names of Kubernetes objects do not consist of is an underscore.
func DiagramText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', strings.ContainsRune("-./ ", r):
			return r
		}
		return '_'
	}, s)
}
