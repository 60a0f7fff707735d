// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// passing is what texts leave out: uids, versions and times.
var passing = regexp.MustCompile(`00000000-0000-4000-8000-\d{12}|("resourceVersion":")\d+|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z`)

func TestPassing_leavesOutUidsVersionsAndTimesAlone(t *testing.T) {
	t.Parallel()
	pieces := []string{
		"00000000-0000-4000-8000-000000000012", "00000000-0000-4000-8000-0000000000123", "00000000-0000-4000-8000-12", `"resourceVersion":"12"`, `"resourceVersion":"x"`, `"`, "a", "Z", "-", ".", "20",
		"2000-01-01T00:00:00Z", "2026-11-26T08:39:07.123456789Z", "2026-11-26T08:39:07.Z", "2026-11-26T08:39:07", "26-11-26T08:39:07Z", "T08:39:07Z", "\n",
	}
	const seed = 17
	draw := rand.New(rand.NewPCG(seed, seed))
	for range 20000 {
		var b strings.Builder
		for range draw.IntN(8) {
			b.WriteString(pieces[draw.IntN(len(pieces))])
			b.WriteByte(",:"[draw.IntN(2)])
		}
		text := b.String()
		if got, want := withoutPassing(text), passing.ReplaceAllString(text, "$1"); got != want {
			t.Fatalf("%q becomes %q instead of %q", text, got, want)
		}
	}
}
