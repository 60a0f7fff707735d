// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFit_breaksIndentedLinesAlone(t *testing.T) {
	t.Parallel()
	long, word := strings.TrimSpace(strings.Repeat("sentence ", 12)), strings.Repeat("x", 90)
	for name, tt := range map[string]struct{ detail, want string }{
		"a line that fits":     {"  short\n\n  ok", "  short\n\n  ok"},
		"a paragraph":          {long, long},
		"a line of a list":     {"All:\n  " + long, "All:\n  " + strings.TrimSpace(strings.Repeat("sentence ", 8)) + "\n      " + strings.TrimSpace(strings.Repeat("sentence ", 4))},
		"a line with a dash":   {"  - " + long, "  - " + strings.TrimSpace(strings.Repeat("sentence ", 8)) + "\n      " + strings.TrimSpace(strings.Repeat("sentence ", 4))},
		"a word that is wider": {"  at " + word + " and", "  at\n      " + word + "\n      and"},
		"a command":            {"  - run: kubectl " + long, "  - run: kubectl " + long},
		"one word":             {"  " + word, "  " + word},
		"exactly as wide":      {"  " + strings.Repeat("é", 76), "  " + strings.Repeat("é", 76)},
	} {
		if got := Fit(tt.detail); got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, tt.want)
		}
	}
}

// TestGoldens_fitATerminal: the goldens are what command lines show, beside two columns of their own.
func TestGoldens_fitATerminal(t *testing.T) {
	t.Parallel()
	goldens, err := filepath.Glob("testdata/*.golden")
	if err != nil || len(goldens) < 40 {
		t.Fatalf("there are %d goldens: %v", len(goldens), err)
	}
	for _, name := range goldens {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, " ") && width(strings.TrimSuffix(line, "\n")) > Width {
				t.Errorf("%s has a line of %d columns:\n%s", name, width(line)-1, line)
			}
		}
	}
}
