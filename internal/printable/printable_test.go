// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package printable

import (
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                 "",
		"web-7d4b9c-x":                     "web-7d4b9c-x",
		"two words, über":                  "two words, über",
		"a\nb\r\tc":                        "a b  c",
		"\x1b[31mred":                      "\ufffd[31mred",
		"a\u202eb":                         "a\ufffdb",
		"a\u2028b":                         "a b",
		"bad\xff":                          "bad\ufffd",
		"::error::x":                       ": : error::x",
		"\n::set-output name=a::b":         " : : set-output name=a::b",
		"##[command]x":                     "# #[command]x",
		"say ##vso[task.setvariable]":      "say # #vso[task.setvariable]",
		"say ##teamcity[message text='x']": "say # #teamcity[message text='x']",
		"###[error]x":                      "## #[error]x",
		"dial tcp [::1]:6443: refused":     "dial tcp [::1]:6443: refused",
		strings.Repeat("x", most) + "yy":   strings.Repeat("x", most) + "…",
		strings.Repeat("ü", most):          strings.Repeat("ü", most),
	} {
		if got := Line(in); got != want {
			t.Errorf("%q is printed as %q, want %q", in, got, want)
		}
	}
}

// command begins a command of a pipeline that counts anywhere in a line.
var command = regexp.MustCompile(`##[A-Za-z0-9._-]*\[`)

func FuzzLine(f *testing.F) {
	f.Add("::error::x")
	f.Add("a###teamcity[b ##vso[c")
	f.Add(" \u0085::warning\u202e##[x]")
	f.Fuzz(func(t *testing.T, in string) {
		got := Line(in)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > most+1 {
			t.Fatalf("%q is not valid or too long", got)
		}
		for _, r := range got {
			if r != ' ' && r != utf8.RuneError && !unicode.IsPrint(r) {
				t.Fatalf("%q has %U", got, r)
			}
		}
		if trimmed := strings.TrimSpace(got); strings.HasPrefix(trimmed, "::") || command.MatchString(got) {
			t.Fatalf("%q holds a command", got)
		}
		if again := Line(got); len(in) <= most && again != got {
			t.Fatalf("%q is printed as %q once more", got, again)
		}
	})
}
