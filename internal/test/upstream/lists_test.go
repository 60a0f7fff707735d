// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"go/ast"
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// localTests returns the tests of this repository that compare with upstream.
func localTests(t *testing.T) map[string]bool {
	t.Helper()
	var files []string
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testbed":
			return fs.SkipDir // It has modules of its own.
		case strings.HasSuffix(path, "_test.go"):
			files = append(files, path)
		}
		return nil
	})
	if err != nil || len(files) < 100 {
		t.Fatalf("%d files are found: %v", len(files), err)
	}
	out := map[string]bool{}
	for _, path := range files {
		file, err := goparser.ParseFile(token.NewFileSet(), path, nil, goparser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "TestUpstream_") {
				continue
			}
			if out[f.Name.Name] {
				t.Errorf("two tests have the name %s", f.Name.Name)
			}
			out[f.Name.Name] = true
			if !calls(f, "Cases") {
				t.Errorf("%s does not call upstream.Cases", f.Name.Name)
			}
		}
	}
	return out
}

// calls reports whether a test calls a function of this package.
func calls(f *ast.FuncDecl, name string) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == name {
			if x, ok := s.X.(*ast.Ident); ok && x.Name == "upstream" {
				found = true
			}
		}
		return !found
	})
	return found
}

// A list that names a test that does not exist would have rows that no test checks.
func TestLists_nameTestsThatExist(t *testing.T) {
	t.Parallel()
	unlisted := localTests(t)
	exist := localTests(t)
	for _, list := range Lists(t) {
		for _, test := range list.Tests {
			delete(unlisted, test.Local)
			if test.Local != "" && !exist[test.Local] {
				t.Errorf("%s: %s names %s, which is in no package", list.Name, test.Name, test.Local)
			}
		}
	}
	for name := range unlisted {
		t.Errorf("no list names %s", name)
	}
}

func TestLists_haveEachCaseOfATest(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, list := range Lists(t) {
		numbers := map[string]map[int]bool{}
		for _, test := range list.Tests {
			name := test.File + " " + test.Name
			if numbers[name] == nil {
				numbers[name] = map[int]bool{}
			}
			for _, one := range test.Cases {
				numbers[name][one.Number] = true
			}
			// Several local tests can share the cases of one of upstream's.
			key := test.File + " " + test.Name + " " + test.Local
			if seen[key] {
				t.Errorf("%s: %s is there twice", list.Name, key)
			}
			seen[key] = true
		}
		for name, all := range numbers {
			for n := range len(all) {
				if !all[n+1] {
					t.Errorf("%s: %s has %d cases, and none is number %d", list.Name, name, len(all), n+1)
				}
			}
		}
	}
}

// The lists are of the release that the provider is built with: a new one brings new cases.
func TestLists_areOfTheReleaseInUse(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	inUse := regexp.MustCompile(`(?m)^\tk8s\.io/api v0\.(\d+)\.`).FindSubmatch(text)
	if inUse == nil {
		t.Fatal("go.mod does not name k8s.io/api")
	}
	for _, list := range Lists(t) {
		if len(list.Versions) == 0 {
			t.Errorf("%s names no module", list.Name)
		}
		for module, version := range list.Versions {
			if minor := strings.Split(version, ".")[1]; minor != string(inUse[1]) {
				t.Errorf("%s has the cases of %s %s, and go.mod requires minor version %s: compare them anew", list.Name, module, version, inUse[1])
			}
		}
	}
}

func TestParse_refusesWhatIsIncomplete(t *testing.T) {
	t.Parallel()
	const head = "module k8s.io/x v1.37.2\nfile a_test.go\n"
	for text, want := range map[string]string{
		"test TestA = TestUpstream_a\n  1 one\n    row\n  2 two\n    - why\ntest TestB\n  - why\n  1\n":                                    "1 of 3 cases, 1 of 3 about this provider",
		"subject s: why\ntest TestA = TestUpstream_a\n  1 one\n    row\n  2 two\n    - s\n":                                                "1 of 2 cases, 1 of 1 about this provider; 1 s",
		"subject s: why\ntest TestB\n  - s\n  1 one\n  2 two\n    - another\n":                                                             "0 of 2 cases, 0 of 1 about this provider; 1 s",
		"subject s: why\ntest TestA = TestUpstream_a\n  1 one\n    row\n  2 two\n    - s\ntest TestA = TestUpstream_b\n  2 two\n    row\n": "2 of 2 cases, 2 of 2 about this provider",
	} {
		if list, err := parse("x.txt", head+text); err != nil {
			t.Errorf("%q: %v", text, err)
		} else if whole, _, _ := list.Shares(); whole.String() != want {
			t.Errorf("%q: %s, want %s", text, whole, want)
		}
	}
	for name, text := range map[string]string{
		"a case without rows":                    "test TestA = TestUpstream_a\n  1 one\n  2 two\n    row\n",
		"a case with rows and a reason":          "test TestA = TestUpstream_a\n  1 one\n    row\n    - why\n",
		"cases out of order":                     "test TestA = TestUpstream_a\n  2 two\n    row\n  1 one\n    row 1\n",
		"a test without cases":                   "test TestA = TestUpstream_a\n",
		"a test without a local one":             "test TestA\n",
		"a test that is left out, without cases": "test TestA\n  - why\n",
		"a test that is left out, and has":       "test TestA = TestUpstream_a\n  - why\n",
		"cases that no test has":                 "test TestA\n  - why\n  1 one\n    row\n",
		"a row twice":                            "test TestA = TestUpstream_a\n  1 one\n" + strings.Repeat("    row\n", 2),
		"a row of no case":                       "test TestA = TestUpstream_a\n    row\n",
		"a case of no test":                      "  1 one\n",
		"a subject without a reason":             "subject s\n",
		"an unknown word":                        "tests TestA\n",
		"odd indentation":                        "test TestA = TestUpstream_a\n 1 one\n",
	} {
		if _, err := parse("x.txt", head+text); err == nil {
			t.Errorf("%s: parsed", name)
		}
	}
}

func TestRows_noticeWhatDoesNotAgree(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rows *Rows
		want int
	}{
		"all passed":          {&Rows{listed: map[string]bool{"a": true, "b": true}, declared: map[string]bool{"a": true, "b": true}}, 0},
		"one failed":          {&Rows{listed: map[string]bool{"a": true, "b": true}, declared: map[string]bool{"a": true, "b": false}}, 1},
		"one is not there":    {&Rows{listed: map[string]bool{"a": true, "b": true}, declared: map[string]bool{"a": true}}, 1},
		"one is misspelt":     {&Rows{listed: map[string]bool{"a": true, "b": true}, declared: map[string]bool{"a": true, "B": true}}, 2},
		"one is in no list":   {&Rows{listed: map[string]bool{"a": true}, declared: map[string]bool{"a": true, "b": true}}, 1},
		"-run left out one":   {&Rows{listed: map[string]bool{"a": true, "b": true}, declared: map[string]bool{"a": true, "b": false}, filtered: true}, 0},
		"no list names these": {&Rows{declared: map[string]bool{"a": true}}, 1},
	} {
		if got := tt.rows.problems(); len(got) != tt.want {
			t.Errorf("%s: %q, want %d", name, got, tt.want)
		}
	}
}
