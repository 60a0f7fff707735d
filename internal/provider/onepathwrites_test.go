// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// requests are the methods of client-go that change a cluster.
var requests = []string{"Apply", "ApplyStatus", "Create", "Delete", "DeleteCollection", "EvictV1", "Patch", "Update", "UpdateStatus"}

// changeNothing are the methods of kube.Cluster that send such a request as a dry run, or to ask for rights (SelfSubjectRulesReview).
var changeNothing = []string{"CustomResources", "FindsMarks", "MarkedAnywhere", "MarkedRolling", "RestrictsTolerations", "TryPolicy", "TryWorkload"}

// TestOnePath_knowsEachWrite derives from the calls in kube which methods of Cluster change the cluster: a new one is on the list.
func TestOnePath_knowsEachWrite(t *testing.T) {
	t.Parallel()
	calls, exported := map[string]map[string]bool{}, map[string]bool{}
	for _, file := range sources(t) {
		if filepath.Dir(file) != filepath.Join("internal", "kube") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is || f.Body == nil {
				continue
			}
			if f.Recv != nil && f.Name.IsExported() && strings.HasSuffix(receiver(f), "Cluster") {
				exported[f.Name.Name] = true
			}
			if calls[f.Name.Name] == nil {
				calls[f.Name.Name] = map[string]bool{}
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.SelectorExpr:
					calls[f.Name.Name][n.Sel.Name] = true
				case *ast.CallExpr:
					if called, is := n.Fun.(*ast.Ident); is {
						calls[f.Name.Name][called.Name] = true
					}
				}
				return true
			})
		}
	}
	var writing func(name string, seen map[string]bool) bool
	writing = func(name string, seen map[string]bool) bool {
		if seen[name] {
			return false
		}
		seen[name] = true
		for called := range calls[name] {
			// Evict sends a request of the same name.
			if slices.Contains(requests, called) && calls[called] == nil || called == "Evict" || writing(called, seen) {
				return true
			}
		}
		return false
	}
	var got []string
	for name := range exported {
		if writing(name, map[string]bool{}) {
			got = append(got, name)
		}
	}
	want := slices.Sorted(slices.Values(slices.Concat(writes, changeNothing)))
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// receiver returns the type of a method's receiver.
func receiver(f *ast.FuncDecl) string {
	typ := f.Recv.List[0].Type
	if star, is := typ.(*ast.StarExpr); is {
		typ = star.X
	}
	if name, is := typ.(*ast.Ident); is {
		return name.Name
	}
	return ""
}
