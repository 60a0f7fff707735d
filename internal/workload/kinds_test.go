// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// The paths are held against the types and manifests of the modules that this
// one is built with, so that an upgrade that moves a field fails here.

// openshift returns the folder of github.com/openshift/api, which other packages
// of this module import.
func openshift(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/openshift/api")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		t.Fatalf("where is the module github.com/openshift/api? %q, %v", dir, err)
	}
	return dir
}

// field returns the type of the field with this JSON name.
func field(t *testing.T, of reflect.Type, name string) reflect.Type {
	t.Helper()
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		t.Fatalf("%s is not a struct that could have %q", of, name)
	}
	for i := range of.NumField() {
		if tag, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ","); tag == name {
			return of.Field(i).Type
		}
	}
	t.Fatalf("%s has no field %q", of, name)
	return nil
}

func leadsToTolerations(t *testing.T, of reflect.Type, path []string) {
	t.Helper()
	leadsTo[[]corev1.Toleration](t, of, path)
}

func leadsTo[T any](t *testing.T, of reflect.Type, path []string) {
	t.Helper()
	for _, name := range path {
		of = field(t, of, name)
	}
	if of != reflect.TypeFor[T]() {
		t.Errorf("%s leads to %s", JoinPath(path), of)
	}
}

func TestKinds_builtinPathsAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	types := map[string]reflect.Type{
		"Deployment": reflect.TypeFor[appsv1.Deployment](), "StatefulSet": reflect.TypeFor[appsv1.StatefulSet](),
		"DaemonSet": reflect.TypeFor[appsv1.DaemonSet](), "ReplicaSet": reflect.TypeFor[appsv1.ReplicaSet](),
		"CronJob": reflect.TypeFor[batchv1.CronJob](), "Job": reflect.TypeFor[batchv1.Job](),
	}
	for _, k := range BuiltinKinds() {
		t.Run(k.Kind, func(t *testing.T) {
			t.Parallel()
			of, known := types[k.Kind]
			if !known {
				t.Fatal("add its type to this test")
			}
			leadsToTolerations(t, of, k.Path)
			leadsTo[map[string]string](t, of, k.Selector)
			if group(k.APIVersion) != filepath.Base(filepath.Dir(of.PkgPath())) || k.Cluster || k.Plural != strings.ToLower(k.Kind)+"s" {
				t.Errorf("%+v of %s", k, of.PkgPath())
			}
		})
	}
}

// openAPI is what is needed of an OpenAPI schema.
type openAPI struct {
	Type       string              `json:"type"`
	Properties map[string]*openAPI `json:"properties"`
	Additional *openAPI            `json:"additionalProperties"`
	Items      *openAPI            `json:"items"`
}

// definition is what is needed of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Group string `json:"group"`
		Names struct {
			Kind   string `json:"kind"`
			Plural string `json:"plural"`
		} `json:"names"`
		Scope    string `json:"scope"`
		Versions []struct {
			Name    string `json:"name"`
			Served  bool   `json:"served"`
			Storage bool   `json:"storage"`
			Schema  struct {
				OpenAPI *openAPI `json:"openAPIV3Schema"`
			} `json:"schema"`
		} `json:"versions"`
	} `json:"spec"`
}

// definitions reads the manifests of a group and kind, of all feature sets.
func definitions(t *testing.T, dir string, k Kind) map[string]definition {
	t.Helper()
	folder, _, _ := strings.Cut(group(k.APIVersion), ".")
	files, err := filepath.Glob(filepath.Join(dir, folder, "*", "zz_generated.crd-manifests", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]definition{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "\n    kind: "+k.Kind+"\n") {
			continue
		}
		var d definition
		if err := yaml.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if d.Spec.Group == group(k.APIVersion) && d.Spec.Names.Kind == k.Kind {
			out[filepath.Base(file)] = d
		}
	}
	return out
}

func TestKinds_pathsOfOpenShiftsOperatorsAreThoseOfItsDefinitions(t *testing.T) {
	t.Parallel()
	dir := openshift(t)
	for _, name := range []string{"IngressController", "DNS", "Config"} {
		k, _ := Lookup("", name)
		t.Run(k.Kind, func(t *testing.T) {
			t.Parallel()
			found := definitions(t, dir, k)
			if len(found) == 0 {
				t.Fatal("no definition of this kind is there")
			}
			for file, d := range found {
				if d.Spec.Names.Plural != k.Plural || d.Spec.Scope == "Cluster" != k.Cluster {
					t.Errorf("%s: plural %s, scope %s", file, d.Spec.Names.Plural, d.Spec.Scope)
				}
				checked := false
				for _, v := range d.Spec.Versions {
					if d.Spec.Group+"/"+v.Name == k.APIVersion && v.Served && v.Storage {
						checked = true
						holdsTolerations(t, file, v.Schema.OpenAPI, k.Path)
						holdsLabels(t, file, v.Schema.OpenAPI, k.Selector)
					}
				}
				if !checked {
					t.Errorf("%s does not serve %s", file, k.APIVersion)
				}
			}
		})
	}
}

// descend returns what the schema has at a path, nil where there is nothing.
func descend(t *testing.T, file string, at *openAPI, path []string) *openAPI {
	t.Helper()
	for i, name := range path {
		next := at.Properties[name]
		if next == nil {
			t.Errorf("%s: %s has no %q", file, JoinPath(path[:i]), name)
			return nil
		}
		at = next
	}
	return at
}

func holdsLabels(t *testing.T, file string, at *openAPI, path []string) {
	t.Helper()
	at = descend(t, file, at, path)
	if at != nil && (at.Type != "object" || at.Additional == nil || at.Additional.Type != "string" || len(at.Properties) > 0) {
		t.Errorf("%s: %s is not a map of strings", file, JoinPath(path))
	}
}

func holdsTolerations(t *testing.T, file string, at *openAPI, path []string) {
	t.Helper()
	if at = descend(t, file, at, path); at == nil {
		return
	}
	if at.Type != "array" || at.Items == nil || at.Items.Type != "object" {
		t.Errorf("%s: %s is not a list of objects", file, JoinPath(path))
		return
	}
	want := map[string]string{"key": "string", "operator": "string", "value": "string", "effect": "string", "tolerationSeconds": "integer"}
	for name, property := range at.Items.Properties {
		if want[name] != property.Type {
			t.Errorf("%s: an entry has %q of type %s", file, name, property.Type)
		}
		delete(want, name)
	}
	if len(want) > 0 {
		t.Errorf("%s: an entry has no %v", file, want)
	}
}

func TestKinds_pathOfDeploymentConfigIsThatOfItsType(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(openshift(t), "apps", "v1")
	types, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, "types.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	k, _ := Lookup("", "DeploymentConfig")
	of, rest := k.Kind, k.Path
	for of != "*corev1.PodTemplateSpec" {
		of, rest = fieldOf(t, types, of, rest[0]), rest[1:]
	}
	leadsToTolerations(t, reflect.TypeFor[corev1.PodTemplateSpec](), rest)
	leadsTo[map[string]string](t, reflect.TypeFor[corev1.PodTemplateSpec](), k.Selector[len(k.Path)-len(rest):])
	register, err := os.ReadFile(filepath.Join(dir, "register.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(register), `"`+group(k.APIVersion)+`"`) {
		t.Errorf("register.go does not name the group %s", group(k.APIVersion))
	}
	for _, group := range types.Comments {
		for _, line := range group.List {
			if strings.Contains(line.Text, "+genclient:nonNamespaced") && !k.Cluster {
				t.Error("the kind has no namespace")
			}
		}
	}
	// Fields that are read beside the tolerations.
	for _, name := range []string{"replicas", "paused", "test", "triggers"} {
		fieldOf(t, types, "DeploymentConfigSpec", name)
	}
	fieldOf(t, types, "DeploymentConfigStatus", "observedGeneration")
	fieldOf(t, types, "DeploymentTriggerPolicy", "type")
}

// fieldOf returns how the type of the field with this JSON name is written.
func fieldOf(t *testing.T, file *ast.File, of, name string) string {
	t.Helper()
	found := ""
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || spec.Name.Name != of {
			return true
		}
		for _, f := range spec.Type.(*ast.StructType).Fields.List {
			if f.Tag == nil {
				continue
			}
			tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
			if written, _, _ := strings.Cut(tag, ","); written == name {
				found = expression(f.Type)
			}
		}
		return false
	})
	if found == "" {
		t.Fatalf("%s has no field %q", of, name)
	}
	return found
}

func expression(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.StarExpr:
		return "*" + expression(e.X)
	case *ast.SelectorExpr:
		return expression(e.X) + "." + e.Sel.Name
	}
	return "?"
}
