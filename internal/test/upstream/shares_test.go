// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write shares.txt and the page of what is left out")

// Nine of ten cases of each upstream file have rows, beside those that are not about this provider. That the rows
// exist, run and pass is what Rows checks in the tests that have them.
func TestLists_nineOfTenCasesOfEachFileHaveRows(t *testing.T) {
	t.Parallel()
	for _, list := range Lists(t) {
		whole, files, tables := list.Shares()
		t.Logf("%s: %s", list.Name, whole)
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			t.Logf("  %s: %s", name, tables[name])
		}
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if !files[name].Enough() {
				t.Errorf("%s, %s: %s, want 90 %%: without rows are %s", list.Name, name, files[name], strings.Join(files[name].Missing, "; "))
			}
		}
	}
}

// A change of what is carried shows in the numbers of shares.txt.
func TestLists_haveTheSharesThatAreWritten(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, list := range Lists(t) {
		whole, _, _ := list.Shares()
		b.WriteString(list.Name + ": " + whole.String() + "\n")
		for _, subject := range slices.Sorted(maps.Keys(list.Subjects)) {
			b.WriteString("  " + subject + ": " + list.Subjects[subject] + "\n")
			if whole.Beyond[subject] == 0 {
				t.Errorf("%s: no case is about the subject %s", list.Name, subject)
			}
		}
		for _, missing := range whole.Missing {
			b.WriteString("  without rows: " + missing + "\n")
		}
	}
	if *update {
		if err := os.WriteFile("shares.txt", []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	written, err := os.ReadFile("shares.txt")
	if err != nil || string(written) != b.String() {
		t.Errorf("shares.txt is not up to date (%v): run this test with -update. It would be:\n%s", err, b.String())
	}
}
