// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import "testing"

func TestEscape_makesNeitherMentionsNorLinks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@team":                 "@&#8203;team",
		"a@example.com":         "a@&#8203;example.com",
		"https://example.com/a": "https:&#8203;//example.com/a",
		"www.example.com":       "www&#8203;.example.com",
		// Issues, merge requests, snippets, epics, milestones, labels and others
		// (https://docs.gitlab.com/user/markdown/#gitlab-specific-references).
		"#12, org/repo#12, #":     "#&#8203;12, org/repo#&#8203;12, #",
		"gh-12, GH-12, high-12":   "gh-&#8203;12, GH-&#8203;12, high-12",
		"!12 $12 &12, !gpu":       "!&#8203;12 $&#8203;12 &amp;&#8203;12, !gpu",
		`%12 %"a b" ~bug ~"x" 1%`: `%&#8203;12 %&#8203;"a b" \~&#8203;bug \~&#8203;"x" 1%`,
		"[issue:12] [::1]":        "\\[&#8203;issue:12\\] \\[::1\\]",
		"~gh-12%www.a.b":          "\\~&#8203;gh-&#8203;12%&#8203;www&#8203;.a.b",
		"<b> & `c` | [d](e)\n# f": "&lt;b> &amp; \\`c\\` \\| \\[&#8203;d\\](e) # f",
	} {
		if got := MarkdownText(in); got != want {
			t.Errorf("%q is escaped as %q, want %q", in, got, want)
		}
	}
}

func TestEscape_codeEndsOnlyAtItsEnd(t *testing.T) {
	t.Parallel()
	if got, want := MarkdownCode("a`b\nc|d"), "`a'b c|d`"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEscape_diagramsKeepNamesAndNoSyntax(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Deployment shop/web-1.a":        "Deployment shop/web-1.a",
		"x : y\n section z;%%{init}%%#a": "x _ y_ section z____init____a",
		"<script>[a](b)":                 "_script__a__b_",
		"ähre":                           "_hre",
	} {
		if got := DiagramText(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}
