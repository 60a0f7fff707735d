// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// inMarkdown takes the meaning from characters that Markdown gives one: names and
// selectors come from the cluster and the configuration.
var inMarkdown = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`,
	"<", "&lt;", "&", "&amp;", "~", `\~`,
	// Neither mentions nor links.
	"@", "&#64;", "://", "&#58;//", "www.", "www&#46;",
)

// MarkdownText returns a text as part of a line of Markdown that looks like the text as it can be printed.
func MarkdownText(s string) string { return inMarkdown.Replace(printable.Line(s)) }

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
