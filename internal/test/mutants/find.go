// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one small change of one file.
type mutant struct {
	// pkg is the package's folder, file the changed file, both from the module's root.
	pkg, file string
	function  string
	line      int
	// begin and end are the bytes that are replaced.
	begin, end int
	// was is the changed expression or statement, becomes what takes its place: nothing
	// for a dropped statement.
	was, becomes string
	// source is the whole file as it becomes.
	source []byte
	// before and after are the lines that differ.
	before, after []string
}

// String shows where a mutant is, and what it changes.
func (m mutant) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: in %s", m.file, m.line, m.function)
	for _, line := range m.before {
		b.WriteString("\n-" + line)
	}
	for _, line := range m.after {
		b.WriteString("\n+" + line)
	}
	return b.String()
}

// find returns all mutants of packages in a fixed order.
func find(root string, packages []string) ([]mutant, error) {
	var all []mutant
	for _, pkg := range packages {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pkg), "*.go"))
		if err != nil {
			return nil, err
		}
		slices.Sort(files)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(filepath.Clean(name))
			if err != nil {
				return nil, err
			}
			found, err := mutantsOf(path.Join(pkg, filepath.Base(name)), source)
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no code in %s: run from the root of the module", strings.Join(packages, ", "))
	}
	return all, nil
}

// mutantsOf returns the mutants of one file, from top to bottom.
func mutantsOf(file string, source []byte) ([]mutant, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	f := finder{file: file, source: source, offset: func(p token.Pos) int { return set.Position(p).Offset }}
	for _, d := range tree.Decls {
		if function, ok := d.(*ast.FuncDecl); ok && function.Body != nil {
			f.function = nameOf(function)
			ast.Inspect(function.Body, f.visit)
		}
	}
	return f.found, nil
}

// nameOf returns a function's name, with the type of its receiver.
func nameOf(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	receiver := f.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name + "." + f.Name.Name
	}
	return f.Name.Name
}

type finder struct {
	file, function string
	source         []byte
	offset         func(token.Pos) int
	found          []mutant
}

// swaps are the operators that are changed into each other: those that join conditions,
// and the bounds.
var swaps = map[token.Token]token.Token{
	token.LAND: token.LOR, token.LOR: token.LAND,
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
}

func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		f.negate(n.Cond)
	case *ast.ForStmt:
		f.negate(n.Cond)
	case *ast.BinaryExpr:
		if other, ok := swaps[n.Op]; ok {
			begin := f.offset(n.OpPos)
			f.add(n, begin, begin+len(n.Op.String()), other.String())
		}
	case *ast.BlockStmt:
		f.drop(n.List)
	case *ast.CaseClause:
		f.drop(n.Body)
	case *ast.CommClause:
		f.drop(n.Body)
	}
	return true
}

func (f *finder) negate(condition ast.Expr) {
	if condition != nil {
		begin, end := f.offset(condition.Pos()), f.offset(condition.End())
		f.add(condition, begin, end, "!("+string(f.source[begin:end])+")")
	}
}

// drop leaves out each statement that is no declaration: without one of these, nothing
// compiles.
func (f *finder) drop(statements []ast.Stmt) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.DeclStmt, *ast.EmptyStmt, *ast.LabeledStmt:
			continue
		case *ast.AssignStmt:
			if s.Tok == token.DEFINE {
				continue
			}
		}
		f.add(s, f.offset(s.Pos()), f.offset(s.End()), "")
	}
}

// add notes the mutant that replaces some bytes within an expression or statement.
func (f *finder) add(n ast.Node, begin, end int, by string) {
	from, to := f.offset(n.Pos()), f.offset(n.End())
	m := mutant{
		pkg: path.Dir(f.file), file: f.file, function: f.function, begin: begin, end: end,
		line:    1 + strings.Count(string(f.source[:begin]), "\n"),
		was:     oneLine(string(f.source[from:to])),
		becomes: oneLine(string(f.source[from:begin]) + by + string(f.source[end:to])),
		source:  slices.Concat(f.source[:begin], []byte(by), f.source[end:]),
	}
	// The whole lines around the change, before and after.
	first := strings.LastIndexByte(string(f.source[:begin]), '\n') + 1
	last := len(f.source)
	if rest := strings.IndexByte(string(f.source[end:]), '\n'); rest >= 0 {
		last = end + rest
	}
	m.before = strings.Split(string(f.source[first:last]), "\n")
	m.after = strings.Split(strings.TrimRight(string(f.source[first:begin])+by+string(f.source[end:last]), " \t"), "\n")
	if strings.Join(m.after, "") == "" {
		m.after = nil
	}
	f.found = append(f.found, m)
}

// oneLine writes code on one line, so that it can be compared whatever its indentation.
func oneLine(code string) string { return strings.Join(strings.Fields(code), " ") }
