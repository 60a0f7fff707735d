// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

// Package golden compares what tests get with files that a person has read and
// approved. Tests that use it take the flag -update, which writes the files
// anew.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew instead of comparing with them")

// Check compares a text with a file in testdata.
func Check(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (run with -update if this is meant):\n%s", file, diff)
	}
}
