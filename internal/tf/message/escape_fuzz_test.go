// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
)

// linked matches what GitHub and GitLab read in the text of a page, after its entities: a mention, a link or a reference.
var linked = regexp.MustCompile(`@[^\x{200b}]|@$|://|www\.|[#!$&]\d|[%~\[][\pL\pN"]|(?i:\bgh-\d)`)

// escaped matches what MarkdownText makes of a character that means something in Markdown
// (https://spec.commonmark.org/0.31.2/#backslash-escapes, #entity-and-numeric-character-references).
var escaped = regexp.MustCompile("\\\\[\\\\|`*_\\[\\]~]|&(lt|amp|#8203);")

// FuzzMarkdownText: a text stays on its line, shows what it is, and holds no character that means
// something in Markdown.
func FuzzMarkdownText(f *testing.F) {
	for _, text := range []string{
		"<b> & `c` | [d](e)\n# f", `a\|b`, "@team https://example.com www.example.com", "&lt;&#64;", "\\", "wwww.www.", ":///", "org/repo#12 gh-1 ~a%b[c!1$2&3", "@@", "\x1b[31m\u202e\r\n::error::x", "\u2028|\u0085",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := MarkdownText(text)
		rest := escaped.ReplaceAllString(got, "")
		if strings.ContainsAny(rest, "\\|`*_[]~<&\n\r\x1b\u202e") {
			t.Fatalf("%q is written as %q", text, got)
		}
		shown := escaped.ReplaceAllStringFunc(got, func(one string) string {
			if one[0] == '\\' {
				return one[1:]
			}
			return html.UnescapeString(one)
		})
		if at := linked.FindString(shown); at != "" {
			t.Fatalf("%q is written as %q, which has %q", text, got, at)
		}
		if want := printable.Line(text); strings.ReplaceAll(shown, "\u200b", "") != want {
			t.Fatalf("%q is written as %q, which shows %q", text, got, shown)
		}
	})
}

// FuzzMarkdownCode: code ends where it ends, and stays on its line.
func FuzzMarkdownCode(f *testing.F) {
	f.Add("a`b\nc|d")
	f.Add("``` \x1b\r\n\u202e")
	f.Fuzz(func(t *testing.T, text string) {
		got := MarkdownCode(text)
		inner, found := strings.CutPrefix(got, "`")
		inner, closed := strings.CutSuffix(inner, "`")
		if !found || !closed || strings.ContainsAny(inner, "`\n\r\x1b\u202e") {
			t.Fatalf("%q is written as %q", text, got)
		}
	})
}

// FuzzDiagramText: a label has names and spaces alone.
func FuzzDiagramText(f *testing.F) {
	f.Add("x : y\n section z;%%{init}%%#a")
	f.Fuzz(func(t *testing.T, text string) {
		if got := DiagramText(text); regexp.MustCompile(`[^A-Za-z0-9./ _-]`).MatchString(got) {
			t.Fatalf("%q is written as %q", text, got)
		}
	})
}
