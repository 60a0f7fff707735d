// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write shares.txt and the page of what is left out")

//go:embed exceptions.txt
var exceptionList string

// exceptions returns the reasons for tables with fewer than nine of ten cases, by list and test.
func exceptions(text string) (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		table, reason, found := strings.Cut(line, ": ")
		if !found || len(strings.Fields(table)) != 2 || reason == "" || out[table] != "" {
			return nil, fmt.Errorf("unexpected line %q", line)
		}
		out[table] = reason
	}
	return out, nil
}

// short returns the problems of a list's tables: those that need an exception and have none, and those that have one and
// need none. It removes the exceptions that it has found a table for.
func (l *List) short(excepted map[string]string) (problems []string) {
	_, files, tables := l.Shares()
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		share, key := tables[name], l.Name+" "+name[strings.LastIndex(name, " ")+1:]
		reason, exception := excepted[key]
		delete(excepted, key)
		switch {
		case share.Enough() && exception:
			problems = append(problems, fmt.Sprintf("%s: %s: it needs no exception", key, share))
		case !share.Enough() && !exception:
			problems = append(problems, fmt.Sprintf("%s: %s, want 90 %%, or an exception with its reason: without rows are %s", key, share, strings.Join(share.Missing, "; ")))
		case exception && !strings.Contains(reason, " ") && l.Subjects[reason] == "":
			problems = append(problems, fmt.Sprintf("%s: the list has no subject %s", key, reason))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if !files[name].EnoughAbout() {
			problems = append(problems, fmt.Sprintf("%s, %s: %s, want 90 %% of those about this provider", l.Name, name, files[name]))
		}
	}
	return problems
}

// Nine of ten cases of each table of upstream's tests have rows, but for the tables of exceptions.txt, which has the
// reasons. Of each file, nine of ten have rows of those that are about this provider. That the rows exist, run and pass is what
// Rows checks in the tests that have them.
func TestLists_nineOfTenCasesOfEachTableHaveRows(t *testing.T) {
	t.Parallel()
	excepted, err := exceptions(exceptionList)
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range Lists(t) {
		for _, problem := range list.short(excepted) {
			t.Error(problem)
		}
	}
	for table := range excepted {
		t.Errorf("no list has the table %s of exceptions.txt", table)
	}
}

func TestShort_demandsNineOfTenCasesOfATable(t *testing.T) {
	t.Parallel()
	const head = "module k8s.io/x v1.37.2\nsubject s: why\nfile a_test.go\n"
	row := func(n int) string { return fmt.Sprintf("  %d c\n    row %d\n", n, n) }
	nine := "test TestA = TestUpstream_a\n"
	for n := range 9 {
		nine += row(n + 1)
	}
	for name, tt := range map[string]struct {
		list       string
		exceptions map[string]string
		want       int
	}{
		"nine of ten":                           {list: nine + "  10 c\n    - s\n"},
		"nine of eleven":                        {list: nine + "  10 c\n    - s\n  11 c\n    - s\n", want: 1},
		"nine of eleven, an exception":          {list: nine + "  10 c\n    - s\n  11 c\n    - s\n", exceptions: map[string]string{"x TestA": "s"}},
		"nine of eleven, an unknown subject":    {list: nine + "  10 c\n    - s\n  11 c\n    - s\n", exceptions: map[string]string{"x TestA": "other"}, want: 1},
		"an exception without need":             {list: nine, exceptions: map[string]string{"x TestA": "s"}, want: 1},
		"a table that is left out":              {list: nine + "test TestB\n  - s\n  1 c\n", want: 1},
		"one of nine without a subject":         {list: nine + "  10 c\n    - why\n"},
		"a file with few about the provider":    {list: nine + "test TestB\n  - why\n  1 c\n  2 c\n", exceptions: map[string]string{"x TestB": "s"}, want: 1},
		"a table that several tests carry":      {list: "test TestA = TestUpstream_a\n" + row(1) + "test TestA = TestUpstream_b\n" + row(2)},
		"a table that one of two tests carries": {list: "test TestA = TestUpstream_a\n" + row(1) + "test TestA = TestUpstream_b\n  2 c\n    - s\n", want: 1},
	} {
		list, err := parse("x.txt", head+tt.list)
		if err != nil {
			t.Fatal(err)
		}
		if problems := list.short(tt.exceptions); len(problems) != tt.want {
			t.Errorf("%s: %q, want %d", name, problems, tt.want)
		}
	}
	for _, text := range []string{"x TestA", "TestA: why", "x TestA: why\nx TestA: why"} {
		if _, err := exceptions(text); err == nil {
			t.Errorf("%q: read", text)
		}
	}
}

// A change of what is carried shows in the numbers of shares.txt.
func TestLists_haveTheSharesThatAreWritten(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for _, list := range Lists(t) {
		whole, _, tables := list.Shares()
		b.WriteString(list.Name + ": " + whole.String() + "\n")
		for _, subject := range slices.Sorted(maps.Keys(list.Subjects)) {
			b.WriteString("  " + subject + ": " + list.Subjects[subject] + "\n")
			if whole.Beyond[subject] == 0 {
				t.Errorf("%s: no case is about the subject %s", list.Name, subject)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(tables)) {
			if share := tables[name]; share.Carried > 0 {
				fmt.Fprintf(&b, "  %s: %d of %d\n", name[strings.LastIndex(name, " ")+1:], share.Carried, share.All)
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
