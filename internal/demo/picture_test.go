// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// printed is a plan as a command line prints it.
const printed = "  + nodes = {}\n\n\x1b[1mPlan:\x1b[0m \x1b[0m1 to add, 0 to change.\n\x1b[33m╷\x1b[0m\x1b[0m\n" +
	"\x1b[33m│\x1b[0m \x1b[0m\x1b[1m\x1b[33mWarning: \x1b[0m\x1b[0m\x1b[1mApplying a=b:NoExecute to <4> & more\x1b[0m\n" +
	"\x1b[33m│\x1b[0m \x1b[0m\n\x1b[33m│\x1b[0m \x1b[0m\x1b[0m  LOST  1   \n\x1b[33m╵\x1b[0m\x1b[0m\nmore\n"

func TestEndOf_isTheSumAndTheWarning(t *testing.T) {
	t.Parallel()
	end, err := endOf(terminal(printed))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := end.String(), "Plan: 1 to add, 0 to change.\n╷\n│ Warning: Applying a=b:NoExecute to <4> & more\n│\n│   LOST  1\n╵\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := end.summary(), "Warning: Applying a=b:NoExecute to <4> & more"; got != want {
		t.Errorf("the summary is %q, want %q", got, want)
	}
	for name, other := range map[string]string{"no plan": "No changes.\n", "no warning": "Plan: 1 to add.\n", "a warning before the sum": "╷\n│ Warning\n╵\nPlan: 1 to add.\n"} {
		if end, err := endOf(terminal(other)); err == nil {
			t.Errorf("%s: got %q", name, end)
		}
	}
}

func TestPlanEnd_pageReplacesTextAndPicture(t *testing.T) {
	t.Parallel()
	end, err := endOf(terminal(printed))
	if err != nil {
		t.Fatal(err)
	}
	other := "![Warning: old](.github/rollout.svg)\n\n```text\nPlan: 9 to add\n```\n"
	if got, want := end.page(plannedRollout, other), "!["+end.summary()+"](.github/rollout.svg)\n\n```text\nPlan: 9 to add\n```\n"; got != want {
		t.Errorf("got %s", got)
	}
	got := end.page(plannedTaint, "# Title\n\n![Warning: old](.github/plan.svg)\n\n```text\nPlan: 9 to add\n```\n")
	if want := "# Title\n\n![" + end.summary() + "](.github/plan.svg)\n\n```text\n" + end.String() + "```\n"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestPicture_isTheTextInItsColors(t *testing.T) {
	t.Parallel()
	end, err := endOf(terminal(printed))
	if err != nil {
		t.Fatal(err)
	}
	drawn := end.picture()
	var lines []string
	decoder := xml.NewDecoder(strings.NewReader(drawn))
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("it is no XML: %v\n%s", err, drawn)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "text" {
				lines = append(lines, "")
			}
		case xml.CharData:
			if len(lines) > 0 {
				lines[len(lines)-1] += strings.Trim(string(token), "\n")
			}
		}
	}
	if got, want := strings.Join(lines, "\n")+"\n", "$ terraform plan\n"+end.String(); got != want {
		t.Errorf("it shows\n%s\nwant\n%s", got, want)
	}
	for _, want := range []string{`<tspan fill="#e3b341" font-weight="bold">Warning: </tspan>`, `<tspan fill="#e3b341">╷</tspan>`, `<tspan fill="#e6edf3">  LOST  1</tspan>`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("it has no %s:\n%s", want, drawn)
		}
	}
}

func TestFolded_breaksAtSpacesBehindTheBar(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ text, want string }{
		"a line that fits":     {"0123456789", "0123456789"},
		"a line of a warning":  {"│ ab cd ef gh", "│ ab cd ef\n│ gh"},
		"a line without a bar": {"abcd efgh ij", "abcd efgh\nij"},
		"a space at the edge":  {"0123456789 ab", "0123456789\nab"},
		"a word that is long":  {"│ 0123456789abc", "│ 0123456789abc"},
		"several lines":        {"ab cd ef gh ij kl mn", "ab cd ef\ngh ij kl\nmn"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, l := range folded(terminal(tt.text), 10) {
				got = append(got, l.String())
			}
			if strings.Join(got, "\n") != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
