// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workload

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestSplitPath(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, wrong string
		want              []string
	}{
		{name: "a path", path: "spec.nodePlacement.tolerations", want: []string{"spec", "nodePlacement", "tolerations"}},
		{name: "the shortest path", path: "spec.tolerations", want: []string{"spec", "tolerations"}},
		{name: "names with dashes", path: "spec.node-placement.tolerations", want: []string{"spec", "node-placement", "tolerations"}},
		{name: "nothing", path: "", wrong: "write the names of the fields joined by dots"},
		{name: "one field", path: "spec", wrong: "must lead through the spec"},
		{name: "a field without a name", path: "spec..tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a dot at the beginning, as JSONPath has it", path: ".spec.tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a dot at the end", path: "spec.tolerations.", wrong: "write the names of the fields joined by dots"},
		{name: "an index", path: "spec.pools[0].tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a JSON pointer", path: "/spec/tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a star", path: "spec.*.tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a space", path: "spec. tolerations", wrong: "write the names of the fields joined by dots"},
		{name: "a line break", path: "spec.tolerations\n", wrong: "write the names of the fields joined by dots"},
		{name: "metadata", path: "metadata.annotations", wrong: "must lead through the spec"},
		{name: "status", path: "status.tolerations", wrong: "must lead through the spec"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := SplitPath(tt.path)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), "spec.nodePlacement.tolerations") {
					t.Fatalf("%v and error %v, want one that says %q and gives an example", got, err, tt.wrong)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || JoinPath(got) != tt.path {
				t.Error(diff, JoinPath(got))
			}
		})
	}
}

// Several groups may have kinds of one name.
func TestRef_namesTheGroupOfKindsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	for apiVersion, want := range map[string][3]string{
		"apps/v1":                 {"DaemonSet/shop/agent", `DaemonSet "shop/agent"`, "DaemonSet shop/agent"},
		"apps/v1beta1":            {"DaemonSet/shop/agent", `DaemonSet "shop/agent"`, "DaemonSet shop/agent"},
		"apps.kruise.io/v1beta1":  {"DaemonSet.apps.kruise.io/shop/agent", `DaemonSet.apps.kruise.io "shop/agent"`, "DaemonSet.apps.kruise.io shop/agent"},
		"apps.kruise.io/v1alpha1": {"DaemonSet.apps.kruise.io/shop/agent", `DaemonSet.apps.kruise.io "shop/agent"`, "DaemonSet.apps.kruise.io shop/agent"},
	} {
		ref := Ref{APIVersion: apiVersion, Kind: "DaemonSet", Namespace: "shop", Name: "agent"}
		if got := [3]string{ref.Grouped(), ref.Title(), ref.Words()}; got != want || ref.String() != "DaemonSet/shop/agent" {
			t.Errorf("%s: %q, want %q", apiVersion, got, want)
		}
	}
	// A reader knows a kind by its name alone, where no other kind of that name is known.
	widget := Ref{APIVersion: "example.com/v1", Kind: "Widget", Name: "a"}
	if got, want := [3]string{widget.Grouped(), widget.Title(), widget.Words()}, [3]string{"Widget.example.com/a", `Widget "a"`, "Widget a"}; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestLookup(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, apiVersion, kind string
		path, resource         string
		unknown                bool
	}{
		{name: "a built-in kind", apiVersion: "apps/v1", kind: "Deployment", path: "spec.template.spec.tolerations", resource: "apps/v1, Resource=deployments"},
		{name: "no version means the one that is known", kind: "CronJob", path: "spec.jobTemplate.spec.template.spec.tolerations", resource: "batch/v1, Resource=cronjobs"},
		{name: "another version of the same group keeps its version", apiVersion: "batch/v1beta1", kind: "CronJob", path: "spec.jobTemplate.spec.template.spec.tolerations", resource: "batch/v1beta1, Resource=cronjobs"},
		{name: "the same name in another group is another kind", apiVersion: "config.openshift.io/v1", kind: "DNS", unknown: true},
		{name: "the core group is a group", apiVersion: "v1", kind: "Deployment", unknown: true},
		{name: "a version that is none", apiVersion: "a/b/c", kind: "Deployment", unknown: true},
		{name: "a kind is written as it is", apiVersion: "apps/v1", kind: "deployment", unknown: true},
		{name: "an unknown kind", apiVersion: "example.com/v1", kind: "Gadget", unknown: true},
		{name: "OpenShift's registry", apiVersion: "imageregistry.operator.openshift.io/v1", kind: "Config", path: "spec.tolerations", resource: "imageregistry.operator.openshift.io/v1, Resource=configs"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			kind, known := Lookup(tt.apiVersion, tt.kind)
			if known == tt.unknown {
				t.Fatalf("known %t", known)
			}
			if !known {
				return
			}
			if kind.Tolerations() != tt.path || kind.Resource().String() != tt.resource {
				t.Errorf("%s, %s", kind.Tolerations(), kind.Resource())
			}
		})
	}
}

func TestKinds_areNamedOnceAndBuiltinOnesAreServedEverywhere(t *testing.T) {
	t.Parallel()
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(kinds) {
		t.Error("a kind without a version must mean one")
	}
	var builtin []string
	for _, k := range BuiltinKinds() {
		builtin = append(builtin, k.Kind)
	}
	if diff := cmp.Diff([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "CronJob", "Job"}, builtin, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Error(diff)
	}
	for _, k := range kinds {
		if _, err := SplitPath(k.Tolerations()); err != nil {
			t.Errorf("%s: %v", k.Kind, err)
		}
	}
}

func TestRef_names(t *testing.T) {
	t.Parallel()
	web := Ref{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	if web.String() != "Deployment/shop/web" || web.Title() != `Deployment "shop/web"` || web.GroupVersionKind().String() != "apps/v1, Kind=Deployment" {
		t.Errorf("%s, %s, %s", web, web.Title(), web.GroupVersionKind())
	}
	if diff := cmp.Diff(owner("shop", "Deployment", "web")[0], web.Owner()); diff != "" {
		t.Error(diff)
	}
	dns := Ref{APIVersion: "operator.openshift.io/v1", Kind: "DNS", Name: "default"}
	if dns.String() != "DNS/default" || dns.Title() != `DNS "default"` {
		t.Errorf("%s, %s", dns, dns.Title())
	}
}
