// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// trouble is what the guide on troubleshooting quotes, with the lines. "…" stands for what differs.
type trouble struct {
	// headings are parts of summaries, by which readers search. others are quoted in prose and
	// tables, and may be parts of details.
	headings, others map[string]string
	// examples are the lines of boxes: whole summaries.
	examples []string
}

var (
	quoted = regexp.MustCompile("`([^`]*)`")
	// noMessage is a quote that is a command or part of a configuration. Words without a space are names.
	noMessage = regexp.MustCompile(`^\S*$|^(?:kubectl|terraform) | = |[{<]`)
)

// troubles reads the guide on troubleshooting.
func troubles(t *testing.T) trouble {
	t.Helper()
	out := trouble{headings: map[string]string{}, others: map[string]string{}}
	for _, text := range files(t, "docs", "troubleshooting.md") {
		box := false
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			switch {
			case strings.HasPrefix(line, "```"):
				box = !box
			case box:
				out.examples = append(out.examples, line)
			default:
				out.read(line)
			}
		}
	}
	if len(out.headings) < 80 {
		t.Fatalf("only %d headings were found", len(out.headings))
	}
	return out
}

// read adds what a line outside of boxes quotes.
func (tr trouble) read(line string) {
	heading := strings.HasPrefix(line, "### ")
	for _, found := range quoted.FindAllStringSubmatch(line, -1) {
		switch {
		case heading:
			tr.headings[found[1]] = line
		case !noMessage.MatchString(found[1]):
			tr.others[found[1]] = line
		}
	}
}

// TestTroubleshooting_quotesMessages: commands, names and parts of configurations are none.
func TestTroubleshooting_quotesMessages(t *testing.T) {
	t.Parallel()
	tr := trouble{headings: map[string]string{}, others: map[string]string{}}
	for _, line := range []string{
		"### `No node matches`, `failed`", "| `it timed out` | Set `timeouts` | ", "Then `kubectl get nodes` or `terraform query` or `a = 1` or `pause: {}`, and it ends with `(block …)`.",
	} {
		tr.read(line)
	}
	if got := slices.Sorted(maps.Keys(tr.headings)); !slices.Equal(got, []string{"No node matches", "failed"}) {
		t.Errorf("headings: %q", got)
	}
	if got := slices.Sorted(maps.Keys(tr.others)); !slices.Equal(got, []string{"(block …)", "it timed out"}) {
		t.Errorf("others: %q", got)
	}
}

// TestTroubleshooting_examplesHaveAHeading: a search for words of such a summary finds its entry.
func TestTroubleshooting_examplesHaveAHeading(t *testing.T) {
	t.Parallel()
	explained := troubles(t)
	for _, example := range explained.examples {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(explained.headings)), func(heading string) bool { return messages.Matches(heading, example) }) {
			t.Errorf("no heading has a part of the example %q", example)
		}
	}
}

// TestTroubleshooting_everyMessageIsProducedByATest: for each message that the guide explains there is a test that
// fails in every run that does not produce it, and no test expects one that the guide no longer has. What
// is in a heading is produced in a summary.
func TestTroubleshooting_everyMessageIsProducedByATest(t *testing.T) {
	t.Parallel()
	summaries, details := map[string]string{}, map[string]string{}
	for path, text := range files(t, "internal", "_test.go") {
		if !strings.Contains(path, "testbed") && strings.Contains(text, "messages.Expect") {
			expected(t, path, text, map[string]map[string]string{"messages.Expect": summaries, "messages.ExpectDetail": details})
		}
	}
	explained := troubles(t)
	for message, line := range explained.headings {
		if summaries[message] == "" {
			t.Errorf("no test has messages.Expect(t, %q): %s", message, line)
		}
	}
	for message, line := range explained.others {
		if summaries[message] == "" && details[message] == "" {
			t.Errorf("no test has messages.Expect or messages.ExpectDetail(t, %q): %s", message, line)
		}
	}
	for _, some := range []map[string]string{summaries, details} {
		for message, test := range some {
			if explained.headings[message] == "" && explained.others[message] == "" {
				t.Errorf("%s expects a message that the guide does not have: %q", test, message)
			}
		}
	}
}

// expected adds the texts of calls to the map of the function that is called, with the test that has the
// call. Only statements of a test itself are sure to run.
func expected(t *testing.T, path, text string, found map[string]map[string]string) {
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
			function, literals := callOf(statement)
			for _, arg := range literals {
				if value, err := strconv.Unquote(arg.Value); err == nil && found[function] != nil {
					found[function][value] = path + ": " + test.Name.Name
				}
			}
		}
	}
}

// callOf returns which function a statement calls, and with which literals; none for any other statement.
func callOf(statement ast.Stmt) (string, []*ast.BasicLit) {
	expression, is := statement.(*ast.ExprStmt)
	if !is {
		return "", nil
	}
	call, is := expression.X.(*ast.CallExpr)
	if !is {
		return "", nil
	}
	var out []*ast.BasicLit
	for _, arg := range call.Args {
		if literal, is := arg.(*ast.BasicLit); is {
			out = append(out, literal)
		}
	}
	return types.ExprString(call.Fun), out
}
