// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// troubles are the messages that the guide on troubleshooting has as headings, and in the first
// column of its tables, with their lines. "…" stands for what differs. One table has misspelt attributes instead.
func troubles(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	quoted := regexp.MustCompile("`([^`]*)`")
	for _, text := range files(t, "docs", "troubleshooting.md") {
		attributes := false
		for line := range strings.Lines(text) {
			where := ""
			attributes = strings.HasPrefix(line, "| Misspelt") || attributes && strings.HasPrefix(line, "|")
			switch {
			case attributes:
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

// TestTroubleshooting_everyMessageIsProducedByATest: for each message that the guide explains there is a test that
// fails in every run that does not produce it, and no test expects one that the guide no longer has.
func TestTroubleshooting_everyMessageIsProducedByATest(t *testing.T) {
	t.Parallel()
	produced := map[string]string{}
	for path, text := range files(t, "internal", "_test.go") {
		if !strings.Contains(path, "testbed") && strings.Contains(text, "messages.Expect(") {
			expected(t, path, text, produced)
		}
	}
	explained := troubles(t)
	for message, line := range explained {
		if produced[message] == "" {
			t.Errorf("no test has messages.Expect(t, %q): %s", message, line)
		}
	}
	for message, test := range produced {
		if explained[message] == "" {
			t.Errorf("%s expects a message that the guide does not have: %q", test, message)
		}
	}
}

// expected adds the messages of calls of messages.Expect to a map, with the test that has the call. Only
// statements of a test itself are sure to run.
func expected(t *testing.T, path, text string, found map[string]string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, declared := range parsed.Decls {
		test, is := declared.(*ast.FuncDecl)
		if !is || test.Recv != nil || !strings.HasPrefix(test.Name.Name, "Test") {
			continue
		}
		for _, statement := range test.Body.List {
			for _, arg := range expectCall(statement) {
				if value, err := strconv.Unquote(arg.Value); err == nil {
					found[value] = path + ": " + test.Name.Name
				}
			}
		}
	}
}

// expectCall returns the literals with which a statement calls messages.Expect, none for any other statement.
func expectCall(statement ast.Stmt) []*ast.BasicLit {
	expression, is := statement.(*ast.ExprStmt)
	if !is {
		return nil
	}
	call, is := expression.X.(*ast.CallExpr)
	if !is {
		return nil
	}
	if types.ExprString(call.Fun) != "messages.Expect" {
		return nil
	}
	var out []*ast.BasicLit
	for _, arg := range call.Args {
		if literal, is := arg.(*ast.BasicLit); is {
			out = append(out, literal)
		}
	}
	return out
}
