// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// troubles are the messages that the guide on troubleshooting has as headings, and in the first
// column of its tables, with their lines. "…" stands for what differs.
func troubles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	quoted := regexp.MustCompile("`([^`]*)`")
	for _, text := range files(t, "docs", "troubleshooting.md") {
		for line := range strings.Lines(text) {
			where := ""
			switch {
			case strings.HasPrefix(line, "### "):
				where = line
			case strings.HasPrefix(line, "| `"):
				where = strings.Split(line, "|")[1]
			}
			for _, found := range quoted.FindAllStringSubmatch(where, -1) {
				out[found[1]] = strings.TrimSpace(line)
			}
		}
	}
	if len(out) < 60 {
		t.Fatalf("only %d messages were found", len(out))
	}
	return out
}

// TestTroubleshooting_namesMessagesThatThereAre: each part of a message that the guide
// explains is in the code.
func TestTroubleshooting_namesMessagesThatThereAre(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	for path, text := range files(t, "internal", ".go") {
		if !strings.HasSuffix(path, "_test.go") && !strings.Contains(path, "testbed") {
			code.WriteString(text)
		}
	}
	for message, line := range troubles(t) {
		for part := range strings.SplitSeq(message, "…") {
			if part = strings.Trim(part, " :"); !strings.Contains(code.String(), part) {
				t.Errorf("no message says %q: %s", part, line)
			}
		}
	}
}

// TestTroubleshooting_everyMessageIsProducedByATest: a test compares what it got with each message
// that the guide explains, as a whole, in a line of a golden file or in a text of its code.
func TestTroubleshooting_everyMessageIsProducedByATest(t *testing.T) {
	t.Parallel()
	var wanted strings.Builder
	for _, text := range files(t, "internal", ".golden") {
		wanted.WriteString(text)
	}
	for path, text := range files(t, "internal", "_test.go") {
		if !strings.Contains(path, "testbed") {
			expectations(t, path, text, func(text string) { wanted.WriteString(text + "\n") })
		}
	}
	for message, line := range troubles(t) {
		whole := strings.ReplaceAll(regexp.QuoteMeta(message), "…", ".*")
		if !regexp.MustCompile(whole).MatchString(wanted.String()) {
			t.Errorf("no test expects a message that says %q: %s", message, line)
		}
	}
}

// expectations calls a function with each string of a test's code that is no comment, no name
// of a case, and none that the test itself fails with. Of a sum, the function gets the strings in one.
func expectations(t *testing.T, path, text string, found func(string)) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			fails, is := n.Fun.(*ast.SelectorExpr)
			return !is || !regexp.MustCompile(`^(Error|Fatal|Log|Skip)f?$`).MatchString(fails.Sel.Name)
		case *ast.KeyValueExpr:
			if key, is := n.Key.(*ast.Ident); is && key.Name == "name" {
				return false
			}
		case *ast.BinaryExpr:
			found(sum(n))
		case *ast.BasicLit:
			found(sum(n))
		}
		return true
	})
}

// sum returns the strings of an expression, with a mark in the place of what is no literal.
func sum(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BinaryExpr:
		return sum(e.X) + sum(e.Y)
	case *ast.BasicLit:
		if value, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return value
		}
	}
	return "*"
}
