// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package upstream

import (
	"encoding/json"
	"errors"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// TestLists_haveEveryCaseOfTheSource compares the lists with upstream's files. The test bed is built of
// the same modules: where the module cache does not have them, a pipeline downloads them, and elsewhere
// the files are not compared. Of a part of a file, names are compared alone.
func TestLists_haveEveryCaseOfTheSource(t *testing.T) {
	t.Parallel()
	compared := 0
	for _, list := range Lists(t) {
		for file, tests := range byFile(list) {
			module, path, _ := strings.Cut(file, " ")
			path, _, part := strings.Cut(path, ", ")
			dir := moduleDir(t, module+"@"+list.Versions[module])
			if dir == "" {
				t.Logf("%s: %s is not in the module cache, and is not compared", list.Name, file)
				continue
			}
			compared++
			source := sourceTests(t, filepath.Join(dir, path))
			for name := range source {
				if tests[name] == nil && !part {
					t.Errorf("%s: %s has %s, which is not in the list", list.Name, file, name)
				}
			}
			for name, cases := range tests {
				compare(t, list.Name+": "+name, cases, source[name], part)
			}
		}
	}
	if compared == 0 {
		t.Skip("the module cache has no file of a list, and this is no pipeline, which would download them")
	}
}

// moduleDirs are those that moduleDir has found.
var moduleDirs sync.Map

// moduleDir returns where a module of a version is in the module cache, "" where it is not there. A
// pipeline downloads it, as its test bed does, and then fails without it.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	if dir, known := moduleDirs.Load(module); known {
		return dir.(string)
	}
	dir := filepath.Join(goTool(t, "env", "GOMODCACHE"), module)
	if _, err := os.Stat(dir); err != nil {
		dir = ""
		if os.Getenv("CI") != "" {
			var found struct{ Dir string }
			if err := json.Unmarshal([]byte(goTool(t, "mod", "download", "-json", module)), &found); err != nil {
				t.Fatal(err)
			}
			dir = found.Dir
		}
	}
	moduleDirs.Store(module, dir)
	return dir
}

// goTool returns what the go command prints in the module of the test bed's control plane, whose go.sum
// has the sums of these modules.
func goTool(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = "../../testbed/modules/controlplane"
	out, err := cmd.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, exit.Stderr)
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// byFile returns the cases of a list by file, test and place.
func byFile(list *List) map[string]map[string]map[int]string {
	out := map[string]map[string]map[int]string{}
	for _, test := range list.Tests {
		if out[test.File] == nil {
			out[test.File] = map[string]map[int]string{}
		}
		if out[test.File][test.Name] == nil {
			out[test.File][test.Name] = map[int]string{}
		}
		for _, one := range test.Cases {
			out[test.File][test.Name][one.Number] = one.Name
		}
	}
	return out
}

// compare reports where the cases of a test differ from those in the source.
func compare(t *testing.T, what string, cases map[int]string, source []string, part bool) {
	t.Helper()
	if source == nil {
		t.Errorf("%s is not in the source", what)
		return
	}
	if !part && len(cases) != len(source) {
		t.Errorf("%s: the list has %d cases, the source %d", what, len(cases), len(source))
		return
	}
	for n, name := range cases {
		begins, cut := strings.CutSuffix(name, "…")
		is := func(one string) bool {
			one = strings.Join(strings.Fields(one), " ")
			return one == name || cut && strings.HasPrefix(one, strings.TrimSpace(begins))
		}
		switch {
		case part && !slices.ContainsFunc(source, is):
			t.Errorf("%s: the source has no case %q", what, name)
		case !part && !is(source[n-1]):
			t.Errorf("%s: case %d is %q in the list, and %q in the source", what, n, name, source[n-1])
		}
	}
}

// theTable is how upstream's tests call the table that they range over.
var theTable = regexp.MustCompile(`(?i)^(t|tc|\w*tests?|\w*cases?|table|scenarios)$`)

// nameFields are the fields of a row that hold its name.
var nameFields = regexp.MustCompile(`(?i)^(test)?(name|description|desc|test|msg|scenario)$`)

// sourceTests reads the names of the cases of each test in a file of Go: those of the table that
// it ranges over, or of the subtests that it names itself. Others are one case without a name.
func sourceTests(t *testing.T, path string) (tests map[string][]string) {
	t.Helper()
	file, err := goparser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	tests = map[string][]string{}
	shared, bodies := map[string][]string{}, map[string]*ast.FuncDecl{}
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			bodies[f.Name.Name] = f
		}
		if g, ok := d.(*ast.GenDecl); ok {
			for _, spec := range g.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 {
					if name, rows := tableOf([]ast.Expr{v.Names[0]}, v.Values); name != "" {
						shared[name] = rows
					}
				}
			}
		}
	}
	for name, f := range bodies {
		if !strings.HasPrefix(name, "Test") || name == "TestMain" {
			continue
		}
		// Some only call the function that has their table.
		if called := bodies["t"+name[1:]]; called != nil {
			f = called
		}
		tests[name] = sourceCases(f, shared)
	}
	return tests
}

// sourceCases returns the cases of a test. Its tables may be shared ones of the file.
func sourceCases(f *ast.FuncDecl, shared map[string][]string) []string {
	tables, ranged := maps.Clone(shared), []string{}
	var subtests, direct []string
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if name, rows := tableOf(n.Lhs, n.Rhs); name != "" {
				tables[name] = rows
			}
		case *ast.ValueSpec:
			if len(n.Names) == 1 && len(n.Values) == 1 {
				if name, rows := tableOf([]ast.Expr{n.Names[0]}, n.Values); name != "" {
					tables[name] = rows
				}
			}
		case *ast.RangeStmt:
			switch x := n.X.(type) {
			case *ast.Ident:
				ranged = append(ranged, x.Name)
			case *ast.CompositeLit:
				if rows := rowsOf(x); len(rows) > 0 && namesThem(n) {
					direct = append(direct, rows...)
				}
			}
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "Run" && len(n.Args) == 2 {
				if name := text(n.Args[0]); name != "" && !strings.Contains(name, "%") {
					subtests = append(subtests, name)
				}
			}
		}
		return true
	})
	for _, name := range ranged {
		if rows := tables[name]; len(rows) > 0 {
			direct = append(direct, rows...)
			delete(tables, name)
		}
	}
	switch {
	case len(direct) > 0:
		return direct
	case len(subtests) > 0:
		return subtests
	}
	return []string{""}
}

// namesThem reports whether a loop calls its row as a table's.
func namesThem(n *ast.RangeStmt) bool {
	v, ok := n.Value.(*ast.Ident)
	return ok && regexp.MustCompile(`(?i)^(t|tc|tt|test|\w*case|c)$`).MatchString(v.Name)
}

// tableOf returns the rows of a table that is assigned to a name.
func tableOf(left, right []ast.Expr) (string, []string) {
	if len(left) != 1 || len(right) != 1 {
		return "", nil
	}
	name, named := left[0].(*ast.Ident)
	table, literal := right[0].(*ast.CompositeLit)
	if !named || !literal || !theTable.MatchString(name.Name) {
		return "", nil
	}
	return name.Name, rowsOf(table)
}

// rowsOf returns the names of the rows of a table.
func rowsOf(table *ast.CompositeLit) []string {
	var rows []string
	_, isMap := table.Type.(*ast.MapType)
	if _, isArray := table.Type.(*ast.ArrayType); !isArray && !isMap {
		return nil
	}
	for _, one := range table.Elts {
		if pair, ok := one.(*ast.KeyValueExpr); ok && isMap {
			rows = append(rows, text(pair.Key))
			continue
		}
		rows = append(rows, rowName(one))
	}
	return rows
}

// rowName returns the name of a row, "" for none.
func rowName(row ast.Expr) string {
	if pointer, ok := row.(*ast.UnaryExpr); ok {
		row = pointer.X
	}
	fields, ok := row.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, field := range fields.Elts {
		pair, keyed := field.(*ast.KeyValueExpr)
		if !keyed {
			// The first text of a row without keys.
			return text(field)
		}
		if key, ok := pair.Key.(*ast.Ident); ok && nameFields.MatchString(key.Name) {
			return text(pair.Value)
		}
	}
	return ""
}

// text returns the value of an expression that is a text, joined where it is added up.
func text(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.STRING {
			s, _ := strconv.Unquote(e.Value)
			return s
		}
	case *ast.BinaryExpr:
		return text(e.X) + text(e.Y)
	case *ast.CallExpr:
		if len(e.Args) > 0 {
			return text(e.Args[0])
		}
	}
	return ""
}
