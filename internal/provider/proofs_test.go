// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateProofs = flag.Bool("update-proofs", false, "write the tiers into docs/adr/proofs.md instead of comparing them")

// proofRow is a row of the table: number, what holds, tests, and its tier.
var proofRow = regexp.MustCompile(`^(\| (?:\d+(?:, )?)+ \| .* \| )([^|]*) \| ?([^|]*?) ?\|$`)

// numbered is a line that is meant as a row.
var numbered = regexp.MustCompile(`^\| *\d`)

// proofTest is the name of a test in a row.
var proofTest = regexp.MustCompile("`((?:Test|Benchmark)[A-Za-z0-9_]+)`")

// exhaustiveCalls are the helpers by which a test does less outside "make test-all".
var exhaustiveCalls = []string{"Exhaustive", "ArgoRollouts", "Kruise", "Kills", "All", "chosenSeeds", "eachSeed", "judgements"}

// requestedCalls are the helpers that skip a test without a program that only parts of "make
// test-all" build.
var requestedCalls = []string{"ArgoRollouts", "Kruise", "OnRequest", "needsJQ"}

// TestProofs_namesTestsThatExistAndTheirTiers reads the table of what is proved: each test
// exists, and the last column is the tier in which the row's tests run.
func TestProofs_namesTestsThatExistAndTheirTiers(t *testing.T) {
	t.Parallel()
	tests := declaredTests(t)
	path := filepath.Join(repository, "docs", "adr", "proofs.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines, rows := strings.Split(string(text), "\n"), 0
	for n, line := range lines {
		row := proofRow.FindStringSubmatch(line)
		if row == nil {
			if numbered.MatchString(line) {
				t.Errorf("line %d is no row of four columns: %s", n+1, line)
			}
			continue
		}
		rows++
		names := proofTest.FindAllStringSubmatch(row[2], -1)
		var tiers []tier
		for _, name := range names {
			one, ok := tests[name[1]]
			if !ok {
				t.Errorf("line %d: no test is called %s", n+1, name[1])
			}
			tiers = append(tiers, one)
		}
		if strings.Contains(row[2], "`make testacc-core`") {
			// Other command lines.
			tiers = append(tiers, partly)
		}
		want := rowTier(tiers)
		if *updateProofs {
			lines[n] = row[1] + row[2] + " | " + want + " |"
		} else if row[3] != want {
			t.Errorf("line %d: the tier is %q, want %q: run go test ./internal/provider -run Proofs -update-proofs", n+1, row[3], want)
		}
	}
	if rows < 80 {
		t.Errorf("the table has only %d rows that can be read", rows)
	}
	if *updateProofs {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// tier is the part of the suite that runs a test.
type tier int

const (
	unit tier = iota
	bench
	acceptance
	// partly means that "make test" runs some of the test's cases, and "make test-all" all.
	partly
	exhaustive
)

// rowTier names the tiers that show a row whose tests run in these.
func rowTier(tiers []tier) string {
	most, least := slices.Max(tiers), slices.Min(tiers)
	switch {
	case least == exhaustive:
		return "`test-all`"
	case most >= partly:
		return "`test`, in full `test-all`"
	case most == acceptance:
		return "`test`"
	case most == bench:
		return "`bench`"
	}
	return "`test-unit`"
}

// declaredTests returns the tests and benchmarks of all packages, and their tiers.
func declaredTests(t *testing.T) map[string]tier {
	t.Helper()
	out := map[string]tier{}
	for path, text := range files(t, "internal", "_test.go") {
		if strings.Contains(filepath.ToSlash(path), "/internal/testbed/") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Benchmark") {
				continue
			}
			name := f.Name.Name
			out[name] = tierOf(f)
			// The name in the table may be that of an example within the name of a test.
			if strings.HasPrefix(name, "Benchmark") {
				out[name] = bench
			}
		}
	}
	return out
}

// tierOf reads the tier of a test off its name and its body.
func tierOf(f *ast.FuncDecl) tier {
	if !strings.HasPrefix(f.Name.Name, "TestAcc") {
		tooLong := func(s ast.Stmt) bool {
			e, ok := s.(*ast.ExprStmt)
			return ok && called(e.X) == "TooLong"
		}
		if slices.ContainsFunc(f.Body.List, tooLong) {
			return acceptance
		}
		return unit
	}
	out := acceptance
	for _, statement := range f.Body.List {
		switch s := statement.(type) {
		case *ast.ExprStmt:
			if called(s.X) == "Exhaustive" {
				return exhaustive
			}
		case *ast.AssignStmt:
			if slices.ContainsFunc(s.Rhs, func(e ast.Expr) bool { return slices.Contains(requestedCalls, called(e)) }) {
				return exhaustive
			}
		}
	}
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok && slices.Contains(exhaustiveCalls, called(e)) {
			out = partly
		}
		return true
	})
	return out
}

// called returns the name of the function that an expression calls, "" for no call.
func called(e ast.Expr) string {
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := call.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

// TestProofs_rowTier shows what the column says of rows with several tests.
func TestProofs_rowTier(t *testing.T) {
	t.Parallel()
	for want, tiers := range map[string][]tier{
		"`test-unit`":                {unit, unit},
		"`bench`":                    {bench},
		"`test`":                     {unit, acceptance},
		"`test`, in full `test-all`": {unit, exhaustive},
		"`test-all`":                 {exhaustive, exhaustive},
	} {
		if got := rowTier(tiers); got != want {
			t.Errorf("%s: got %s, want %s", fmt.Sprint(tiers), got, want)
		}
	}
}
