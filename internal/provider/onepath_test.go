// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writes are the methods of kube.Cluster that change the cluster: TestOnePath_knowsEachWrite derives them.
var writes = []string{
	"ChooseMachine", "Cordon", "DeleteMachine", "DeletePod", "EditNamespaceLists", "EditNode", "EditPolicy", "EditWorkload", "Evict",
	"PatchMachineLabels", "PatchMachineTaints", "PatchNodeLabels", "PatchNodeTaints", "PatchSet", "RecordAwaited",
}

// onlyIn names the packages that may call something. The preview of taints has no planner: no resource means
// to make its change, so that there are no steps. Answers counts what tolerates taints that are no change at all.
var onlyIn = map[string][]string{
	"a write of kube":            {"kube", "rollout"},
	"eviction.Evaluate":          {"planner", "machineset", "preview"},
	"eviction.Answers":           {"kubectlplugin", "preview"},
	"eviction.Repin":             {"planner"},
	"eviction.Placements":        {"planner"},
	"machineset.Evaluate":        {"planner", "preview"},
	"machineset.Next":            {"rollout"},
	"planner.Step{}":             {},
	"planner.Plan{}":             {},
	"planner.NodePlan{}":         {},
	"planner.SetSwitch{}":        {"rollout"},
	"planner.MergeNode":          {"rollout"},
	"a package of the scheduler": {"eviction", "machineset", "planner"},
}

// TestOnePath shows that there is one way from a change to the cluster: the planner alone orders
// steps and reports what they do, and rollout alone makes them. What a test file does is its own
// business.
func TestOnePath(t *testing.T) {
	t.Parallel()
	found := map[string][]string{}
	for _, file := range sources(t) {
		home := path.Base(path.Dir(file))
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for what := range uses(tree) {
			if !slices.Contains(found[what], home) {
				found[what] = append(found[what], home)
			}
			if !slices.Contains(onlyIn[what], home) {
				t.Errorf("%s has %s, which is for the packages %v", file, what, onlyIn[what])
			}
		}
		if called := evaluations(tree); ofType(file) && len(called) > 0 {
			t.Errorf("%s calls %v: a Terraform type asks the planner, or package preview", file, called)
		}
	}
	for what, homes := range onlyIn {
		for _, home := range homes {
			if !slices.Contains(found[what], home) && home != "kube" {
				t.Errorf("%s may have %s, and does not any more: take it out of the list", home, what)
			}
		}
	}
}

// ofType reports whether a file is that of a Terraform type or of a function.
func ofType(file string) bool {
	return slices.Contains([]string{"resources", "datasources", "actions", "functions"}, strings.Split(file, "/")[1])
}

// evaluations returns which functions of packages eviction and placement a file calls.
func evaluations(tree *ast.File) (out []string) {
	ast.Inspect(tree, func(n ast.Node) bool {
		if call, is := n.(*ast.CallExpr); is {
			if called, of := call.Fun.(*ast.SelectorExpr); of {
				if name := qualified(called); strings.HasPrefix(name, "eviction.") || strings.HasPrefix(name, "placement.") {
					out = append(out, name)
				}
			}
		}
		return true
	})
	return out
}

// uses returns what of the list a file uses.
func uses(tree *ast.File) map[string]bool {
	out := map[string]bool{}
	note := func(what string) {
		if _, listed := onlyIn[what]; listed {
			out[what] = true
		}
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if called, is := n.Fun.(*ast.SelectorExpr); is && slices.Contains(writes, called.Sel.Name) {
				note("a write of kube")
			}
		case *ast.CompositeLit:
			if made, is := n.Type.(*ast.SelectorExpr); is && len(n.Elts) > 0 {
				note(qualified(made) + "{}")
			}
		case *ast.SelectorExpr:
			note(qualified(n))
		case *ast.ImportSpec:
			if strings.HasSuffix(n.Path.Value, `/internal/placement"`) {
				note("a package of the scheduler")
			}
		}
		return true
	})
	return out
}

// qualified is a selector on a name, such as planner.Step.
func qualified(s *ast.SelectorExpr) string {
	if of, is := s.X.(*ast.Ident); is {
		return of.Name + "." + s.Sel.Name
	}
	return ""
}

// sources are the files of the provider itself.
func sources(t *testing.T) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(filepath.Join("..", "..", "internal"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, err := filepath.Rel(filepath.Join("..", ".."), path)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"testbed", "acctest", "demo", "golden", "test", "testdata"}, entry.Name()):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go"):
			out = append(out, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil || len(out) < 100 {
		t.Fatalf("%d files are found: %v", len(out), err)
	}
	return out
}
