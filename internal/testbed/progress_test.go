// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestPackageCount_saysHowFarABuildIs(t *testing.T) {
	t.Parallel()
	packages := func(n int) string {
		var lines strings.Builder
		for i := range n {
			fmt.Fprintf(&lines, "example.com/module/package%d\n", i)
		}
		return lines.String()
	}
	for name, test := range map[string]struct {
		total  int
		output []string
		want   string
	}{
		"before they are counted":  {total: -1, want: "downloading modules, counting packages"},
		"none begun":               {total: 1310, want: "0 of 1,310 packages"},
		"some begun":               {total: 1310, output: []string{packages(412)}, want: "412 of 1,310 packages"},
		"all begun":                {total: 1310, output: []string{packages(1310)}, want: "linking 1,310 packages"},
		"all were in the cache":    {total: 0, want: "linking 0 packages"},
		"the count has failed":     {total: -1, output: []string{packages(3)}, want: "3 packages"},
		"lines come in pieces":     {total: 9, output: []string{"net/h", "ttp\nfm", "t\nos"}, want: "2 of 9 packages"},
		"messages are no packages": {total: 9, output: []string{"go: downloading golang.org/x/mod v0.42.0\nfmt\n# example.com/a\n./a.go:1:1: undefined: x\n\n"}, want: "1 of 9 packages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var p packageCount
			if test.total >= 0 {
				p.expect(test.total)
			}
			for _, piece := range test.output {
				if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
					t.Fatalf("%d of %d bytes are written (%v)", n, len(piece), err)
				}
			}
			if got := p.String(); got != test.want {
				t.Errorf("the build is at %q, want %q", got, test.want)
			}
		})
	}
}

func TestPackageCount_keepsMessages(t *testing.T) {
	t.Parallel()
	var p packageCount
	if _, err := p.Write([]byte("fmt\n# example.com/a\nos\n./a.go:1:1: undefined: x\nlast line")); err != nil {
		t.Fatal(err)
	}
	if got, want := p.messages(), "# example.com/a\n./a.go:1:1: undefined: x\nlast line"; got != want {
		t.Errorf("the messages are %q, want %q", got, want)
	}
}

func TestThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1310: "1,310", 12045: "12,045", 1000007: "1,000,007"} {
		if got := thousands(n); got != want {
			t.Errorf("%d is written %q, want %q", n, got, want)
		}
	}
}

func TestStalePackages_countsWhatIsLeftToBuild(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":     "module example.com/thing\n\ngo 1.26\n",
		"main.go":    "package main\n\nimport _ \"example.com/thing/sub\"\n\nfunc main() {}\n",
		"sub/sub.go": "package sub\n\n// Nonce keeps earlier runs of the test out of Go's cache.\nconst Nonce = " + strconv.Quote(rand.Text()) + "\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	c := component{name: "thing", title: "thing", pkg: ".", binary: "thing"}
	count := func() int {
		t.Helper()
		stale, err := stalePackages(t.Context(), c, dir)
		if err != nil {
			t.Fatal(err)
		}
		return stale
	}
	before := count()
	if before < 2 {
		t.Errorf("%d packages of a new module are to build, want 2 at least", before)
	}
	var log strings.Builder
	b := &builder{progress: &log}
	if err := b.build(t.Context(), c, dir, filepath.Join(dir, "thing")); err != nil {
		t.Fatal(err)
	}
	if !fileExists(filepath.Join(dir, "thing")) {
		t.Errorf("there is no binary: %s", &log)
	}
	// A main package counts as not installed.
	if after := count(); after > 1 {
		t.Errorf("%d packages are to build after a build, want 1 at most", after)
	}
}

func TestBuild_showsErrorsWithoutPackages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs the go command")
	}
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/broken\n\ngo 1.26\n"), 0o644),
		os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n\nfunc main() { missing() }\n"), 0o644),
	)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{progress: io.Discard}
	err = b.build(t.Context(), component{name: "broken", title: "broken", pkg: "."}, dir, filepath.Join(dir, "broken"))
	if err == nil || !strings.Contains(err.Error(), "undefined: missing") || strings.Contains(err.Error(), "\nexample.com/broken") {
		t.Errorf("the error is %v, want the compiler's alone", err)
	}
}
