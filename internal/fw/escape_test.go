// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import "testing"

func TestEscape_makesNeitherMentionsNorLinks(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"@team":                   "&#64;team",
		"https://example.com/a":   "https&#58;//example.com/a",
		"www.example.com":         "www&#46;example.com",
		"<b> & `c` | [d](e)\n# f": "&lt;b> &amp; \\`c\\` \\| \\[d\\](e) # f",
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
