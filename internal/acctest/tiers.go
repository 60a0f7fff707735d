// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"iter"
	"os"
	"testing"
)

// testsEnv chooses the tests: "long" includes those that are too long for the race detector, and "all"
// those that only "make test-all" runs as well.
const testsEnv = "KUBETAINT_TESTS"

// All reports whether the exhaustive tests run.
func All() bool { return os.Getenv(testsEnv) == "all" }

// Exhaustive skips a test or a case outside "make test-all". Tests that repeat in more
// variants what another test already shows call it first.
func Exhaustive(t testing.TB) {
	t.Helper()
	if !All() {
		t.Skip("an exhaustive test: run \"make test-all\", or set KUBETAINT_TESTS=all")
	}
}

// TooLong skips a test on the in-memory API server that has more cases than "make
// test-unit" has time for, under the race detector. "make test-long" runs it without, as a part of
// "make test", and "make test-all" with it.
func TooLong(t testing.TB) {
	t.Helper()
	if os.Getenv("TF_ACC") == "" && os.Getenv(testsEnv) == "" {
		t.Skip("too long for \"make test-unit\": run \"make test-long\"")
	}
}

// Kills yields after how many requests a test kills the provider. In "make test-all" it
// yields 1, 2, 3 and so on, until the test breaks off because an apply ended before its
// kill. Elsewhere it yields once alone.
func Kills(once int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if !All() {
			yield(once)
			return
		}
		for after := 1; yield(after); after++ {
			continue
		}
	}
}

// MinKills returns how many kills a test needs to show anything: all where Kills yields
// every request, 1 elsewhere.
func MinKills(all int) int {
	if All() {
		return all
	}
	return min(all, 1)
}
