// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSecurity_listsEveryAnnotation that the provider reads or writes, with who may write it elsewhere in the page, and
// no other one.
func TestSecurity_listsEveryAnnotation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| (`+"`kubetaint.io/"+`[^|]*) \|`).FindAllStringSubmatch(string(page), -1)
	var listed []string
	for _, row := range rows {
		listed = append(listed, regexp.MustCompile(`kubetaint\.io/[a-z-]+`).FindAllString(row[1], -1)...)
	}
	slices.Sort(listed)
	if inCode := annotationsInCode(t); !slices.Equal(listed, inCode) {
		t.Errorf("SECURITY.md lists %q, and the code has %q", listed, inCode)
	}
}

// annotationsInCode are the names of annotations among the string literals of the provider, sorted.
func annotationsInCode(t *testing.T) []string {
	t.Helper()
	name := regexp.MustCompile(`^kubetaint\.io/[a-z-]*[a-z]$`)
	var out []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"test", "testbed", "acctest", "demo", "testdata"}, entry.Name()):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.BasicLit)
			if !is || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Error(err)
			}
			if name.MatchString(text) && !slices.Contains(out, text) {
				out = append(out, text)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}
