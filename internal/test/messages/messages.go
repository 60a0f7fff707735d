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

// missing are the messages that running tests have not produced yet, by the name of the test.
var missing = struct {
	sync.Mutex
	of map[string][]string
}{of: map[string][]string{}}

// Expect fails the test at its end for each message that neither it nor a subtest has passed to Got.
// "…" stands for text that differs. A test of internal/provider reads the calls: they are
// statements of the test itself, and have literals.
//
// A test that is skipped produces nothing, nor may one of which -run chooses a subtest.
func Expect(t testing.TB, wanted ...string) {
	t.Helper()
	t.Cleanup(func() {
		if left := take(t); len(left) > 0 && !t.Skipped() && !choosesSubtest() {
			t.Errorf("the test has not produced these messages, which the guide on troubleshooting explains: %q", left)
		}
	})
	missing.Lock()
	defer missing.Unlock()
	missing.of[root(t)] = append(missing.of[root(t)], wanted...)
}

// take returns the messages that a test has not produced, and forgets them.
func take(t testing.TB) []string {
	t.Helper()
	missing.Lock()
	defer missing.Unlock()
	left := missing.of[root(t)]
	delete(missing.of, root(t))
	return left
}

// Got records the texts of messages that the code under test has returned.
func Got(t testing.TB, texts ...string) {
	t.Helper()
	missing.Lock()
	defer missing.Unlock()
	if left := missing.of[root(t)]; len(left) > 0 {
		missing.of[root(t)] = slices.DeleteFunc(left, func(message string) bool {
			return slices.ContainsFunc(texts, pattern(message).MatchString)
		})
	}
}

// GotAll records the messages of diagnostics that the code under test has returned.
func GotAll(t testing.TB, all diag.Diagnostics) {
	t.Helper()
	for _, one := range all {
		Got(t, one.Summary(), one.Detail())
	}
}

func pattern(message string) *regexp.Regexp {
	return regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(message), "…", ".*"))
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
