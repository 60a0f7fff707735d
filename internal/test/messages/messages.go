// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package messages lets a test state which messages of the guide on troubleshooting it produces,
// and fails the test in every run that does not produce them.
package messages

import (
	"flag"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// place is the part of a message in which a text is.
type place bool

const (
	summary place = false
	detail  place = true
)

// wish is a text that a running test has not produced yet.
type wish struct {
	text string
	in   place
}

// missing are these texts, by the name of the test.
var missing = struct {
	sync.Mutex
	of map[string][]wish
}{of: map[string][]wish{}}

// Expect fails the test at its end for each text that is in no summary which it or a subtest has passed
// to Got. "…" stands for text that differs. A test of internal/provider reads the calls: they are
// statements of the test itself, and have literals.
//
// A test that is skipped produces nothing, nor may one of which -run chooses a subtest.
func Expect(t testing.TB, summaries ...string) {
	t.Helper()
	expect(t, summary, summaries)
}

// ExpectDetail does the same for texts of details.
func ExpectDetail(t testing.TB, details ...string) {
	t.Helper()
	expect(t, detail, details)
}

func expect(t testing.TB, in place, wanted []string) {
	t.Helper()
	t.Cleanup(func() {
		if left := take(t); len(left) > 0 && !t.Skipped() && !choosesSubtest() {
			t.Errorf("the test has not produced these texts, which the guide on troubleshooting explains: %+v", left)
		}
	})
	missing.Lock()
	defer missing.Unlock()
	for _, text := range wanted {
		missing.of[root(t)] = append(missing.of[root(t)], wish{text, in})
	}
}

// take returns what a test has not produced, and forgets it.
func take(t testing.TB) []wish {
	t.Helper()
	missing.Lock()
	defer missing.Unlock()
	left := missing.of[root(t)]
	delete(missing.of, root(t))
	return left
}

// Got records summaries that the code under test has returned.
func Got(t testing.TB, summaries ...string) {
	t.Helper()
	got(t, summary, summaries)
}

// GotDetail records details that the code under test has returned.
func GotDetail(t testing.TB, details ...string) {
	t.Helper()
	got(t, detail, details)
}

// GotAll records the summaries and details of diagnostics that the code under test has returned.
func GotAll(t testing.TB, all diag.Diagnostics) {
	t.Helper()
	for _, one := range all {
		Got(t, one.Summary())
		GotDetail(t, one.Detail())
	}
}

func got(t testing.TB, in place, texts []string) {
	t.Helper()
	missing.Lock()
	defer missing.Unlock()
	if left := missing.of[root(t)]; len(left) > 0 {
		missing.of[root(t)] = slices.DeleteFunc(left, func(w wish) bool {
			return w.in == in && slices.ContainsFunc(texts, func(text string) bool { return Matches(w.text, text) })
		})
	}
}

// Matches reports whether a part of a text is the wanted one, in which "…" stands for what differs.
func Matches(wanted, text string) bool {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(wanted), "…", ".*")).MatchString(text)
}

// root returns the name of the test without those of subtests.
func root(t testing.TB) string {
	t.Helper()
	name, _, _ := strings.Cut(t.Name(), "/")
	return name
}

func choosesSubtest() bool {
	run := flag.Lookup("test.run")
	return run != nil && strings.Contains(run.Value.String(), "/")
}
