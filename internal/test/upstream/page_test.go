// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	pagePath = "../../../docs/adr/upstream-cases.md"
	pageHead = `# Cases of Kubernetes' own tests that are left out

This page is made of the lists in ` + "`internal/test/upstream/testdata`" + `, by ` + "`go test ./internal/test/upstream -update`" + `. Every other case of these
tests has rows in a test here, which the lists name.
`
)

// left returns the cases of a test that no local test has, by reason, in the order of the table. Subjects are
// replaced by their reasons.
func (l *List) left(test *Test) (reasons []string, cases map[string][]string) {
	cases = map[string][]string{}
	for _, one := range test.Cases {
		if len(one.Rows) > 0 {
			continue
		}
		reason := one.Reason
		if subject := l.Subjects[reason]; subject != "" {
			reason = subject
		}
		if cases[reason] == nil {
			reasons = append(reasons, reason)
		}
		cases[reason] = append(cases[reason], strings.TrimSpace(fmt.Sprintf("%d %s", one.Number, one.Name)))
	}
	return reasons, cases
}

// page returns the cases of all lists that are left out.
func page(lists []*List) string {
	var b strings.Builder
	b.WriteString(pageHead)
	for _, list := range lists {
		whole, _, _ := list.Shares()
		fmt.Fprintf(&b, "\n## %s\n\n%d of %d cases are here, %d are left out.\n\n", list.Name, whole.Carried, whole.All, whole.All-whole.Carried)
		for _, test := range list.Tests {
			reasons, cases := list.left(test)
			for _, reason := range reasons {
				fmt.Fprintf(&b, "- `%s`: %s:\n", test.Name, reason)
				for _, name := range cases[reason] {
					fmt.Fprintf(&b, "  `%s`\n", strings.ReplaceAll(name, "`", "'"))
				}
			}
		}
	}
	return b.String()
}

// TestLists_haveThePageOfWhatIsLeftOut: a case that is left out stands there with its name and the reason.
func TestLists_haveThePageOfWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	want := page(slices.DeleteFunc(Lists(t), func(l *List) bool {
		whole, _, _ := l.Shares()
		return whole.Carried == whole.All
	}))
	if *update {
		if err := os.WriteFile(pagePath, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile(pagePath)
	if err != nil || string(written) != want {
		t.Errorf("%s is not up to date (%v): run this test with -update", pagePath, err)
	}
}
