// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// custom is an object of a custom kind with a pod template or a reference to one.
func custom(apiVersion, kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": "shop", "name": name, "uid": "uid-" + name}, "spec": spec,
	}}
}

func controlledBy(apiVersion, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID("uid-" + name), Controller: new(true)}}
}

// TestWorkload_findsThePodsOfCustomControllers, which have pods of their own, or ReplicaSets.
func TestWorkload_findsThePodsOfCustomControllers(t *testing.T) {
	t.Parallel()
	template := func() map[string]any {
		return map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{}}}
	}
	api := serve(fakeapi.New(fakeapi.CustomKind("argoproj.io/v1alpha1", "Rollout", "rollouts"), fakeapi.CustomKind("apps.kruise.io/v1alpha1", "CloneSet", "clonesets")), apiNode("n1"))
	api.Add(
		custom("argoproj.io/v1alpha1", "Rollout", "web", template()),
		custom("argoproj.io/v1alpha1", "Rollout", "idle", template()),
		custom("argoproj.io/v1alpha1", "Rollout", "elsewhere", map[string]any{"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "db"}}),
		custom("apps.kruise.io/v1alpha1", "CloneSet", "db", template()),
		&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-web-1", OwnerReferences: controlledBy("argoproj.io/v1alpha1", "Rollout", "web")}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1-a", OwnerReferences: controlledBy("apps/v1", "ReplicaSet", "web-1")}, Spec: corev1.PodSpec{NodeName: "n1"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db-a", OwnerReferences: controlledBy("apps.kruise.io/v1alpha1", "CloneSet", "db")}, Spec: corev1.PodSpec{NodeName: "n1"}},
	)
	c := api.connect(t)
	seen, err := c.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := []string{"spec", "template", "spec", "tolerations"}
	for _, tt := range []struct {
		apiVersion, kind, name string
		pods                   []string
		wants                  int64
	}{
		{"argoproj.io/v1alpha1", "Rollout", "web", []string{"web-1-a"}, 2},
		{"apps.kruise.io/v1alpha1", "CloneSet", "db", []string{"db-a"}, 2},
		{"argoproj.io/v1alpha1", "Rollout", "idle", nil, -1},
	} {
		w, err := c.Workload(t.Context(), workload.Ref{APIVersion: tt.apiVersion, Kind: tt.kind, Namespace: "shop", Name: tt.name}, path)
		if err != nil {
			t.Fatal(err)
		}
		var pods []string
		for _, p := range seen.WorkloadPods(w.Pods...) {
			pods = append(pods, p.Name)
		}
		if diff := cmp.Diff(tt.pods, pods); diff != "" || w.Wants != tt.wants {
			t.Errorf("%s %s wants %d pods, and has: %s", tt.kind, tt.name, w.Wants, diff)
		}
	}
	_, err = c.Workload(t.Context(), workload.Ref{APIVersion: "argoproj.io/v1alpha1", Kind: "Rollout", Namespace: "shop", Name: "elsewhere"}, path)
	if wrong := new(workload.PathError); !errors.As(err, &wrong) || !strings.Contains(err.Error(), `spec.workloadRef takes that of Deployment "db"`) {
		t.Errorf("a Rollout without a template: %v", err)
	}
	for _, p := range seen.Pods["n1"] {
		if owner := seen.Owner(p); owner == (snapshot.Owner{}) || owner.Kind == "ReplicaSet" {
			t.Errorf("pod %s is owned by %s", p.Name, owner)
		}
	}
}

// TestWorkload_findsPodsThroughOwnersOfAnyKind: an App makes Jobs, CloneSets and other
// objects, which make Deployments and pods.
func TestWorkload_findsPodsThroughOwnersOfAnyKind(t *testing.T) {
	t.Parallel()
	kinds := []fakeapi.Kind{
		fakeapi.CustomKind("example.com/v1", "App", "apps"), fakeapi.CustomKind("example.com/v1", "Part", "parts"), fakeapi.CustomKind("apps.kruise.io/v1alpha1", "CloneSet", "clonesets"),
	}
	by := func(apiVersion, kind, name string, o *unstructured.Unstructured) *unstructured.Unstructured {
		o.SetOwnerReferences(controlledBy(apiVersion, kind, name))
		return o
	}
	pod := func(name, apiVersion, kind, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, OwnerReferences: controlledBy(apiVersion, kind, owner)}, Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	fill := func(api *testServer) {
		api.Add(
			custom("example.com/v1", "App", "mine", map[string]any{}), custom("example.com/v1", "App", "other", map[string]any{}),
			by("example.com/v1", "App", "mine", custom("example.com/v1", "Part", "front", map[string]any{})),
			by("example.com/v1", "App", "mine", custom("apps.kruise.io/v1alpha1", "CloneSet", "cache", map[string]any{})),
			by("example.com/v1", "App", "other", custom("apps.kruise.io/v1alpha1", "CloneSet", "stranger", map[string]any{})),
			// Owner references that go round end no walk.
			by("example.com/v1", "Part", "round-b", custom("example.com/v1", "Part", "round-a", map[string]any{})),
			by("example.com/v1", "Part", "round-a", custom("example.com/v1", "Part", "round-b", map[string]any{})),
			&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-web", OwnerReferences: controlledBy("example.com/v1", "Part", "front")}},
			&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "uid-web-1", OwnerReferences: controlledBy("apps/v1", "Deployment", "web")}},
			&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "init", UID: "uid-init", OwnerReferences: controlledBy("example.com/v1", "App", "mine")}},
			pod("web-1-a", "apps/v1", "ReplicaSet", "web-1"), pod("init-a", "batch/v1", "Job", "init"), pod("cache-a", "apps.kruise.io/v1alpha1", "CloneSet", "cache"),
			// From before a version of the kind was given up.
			pod("cache-b", "apps.kruise.io/v1alpha0", "CloneSet", "cache"),
			pod("stranger-a", "apps.kruise.io/v1alpha1", "CloneSet", "stranger"), pod("round-a", "example.com/v1", "Part", "round-a"),
		)
	}
	for name, tt := range map[string]struct {
		forbidden string
		mine      []string
	}{
		"all kinds may be listed":               {"", []string{"cache-a", "cache-b", "init-a", "web-1-a"}},
		"what may not be listed ends the walk":  {"clonesets", []string{"init-a", "web-1-a"}},
		"a kind between may not be listed":      {"parts", []string{"cache-a", "cache-b", "init-a"}},
		"pods may not be listed":                {"pods", []string{"web-1-a"}},
		"without ReplicaSets by the Deployment": {"replicasets", []string{"cache-a", "cache-b", "init-a", "web-1-a"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New(kinds...), apiNode("n1"))
			fill(api)
			c := api.connect(t)
			snapshot, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
				if r.Verb == "list" && r.Resource == tt.forbidden {
					return http.StatusForbidden
				}
				return fakeapi.None
			}
			for app, want := range map[string][]string{"mine": tt.mine, "other": {"stranger-a"}} {
				w, err := c.Workload(t.Context(), workload.Ref{APIVersion: "example.com/v1", Kind: "App", Namespace: "shop", Name: app}, []string{"spec", "tolerations"})
				if err != nil {
					t.Fatal(err)
				}
				var pods []string
				for _, p := range snapshot.WorkloadPods(w.Pods...) {
					pods = append(pods, p.Name)
				}
				if app == "other" && (tt.forbidden == "clonesets" || tt.forbidden == "pods") {
					want = nil
				}
				slices.Sort(pods)
				if diff := cmp.Diff(want, pods); diff != "" {
					t.Errorf("the pods of %s: %s", app, diff)
				}
			}
		})
	}
}

// TestWorkload_findsPodsBelowOwnersWithoutANamespace: a Fleet has no namespace, and makes Crews of the
// whole cluster, and objects of several namespaces.
func TestWorkload_findsPodsBelowOwnersWithoutANamespace(t *testing.T) {
	t.Parallel()
	const v1 = "example.com/v1"
	wide := func(kind, plural string) fakeapi.Kind {
		k := fakeapi.CustomKind(v1, kind, plural)
		k.Cluster = true
		return k
	}
	kinds := []fakeapi.Kind{wide("Fleet", "fleets"), wide("Crew", "crews"), fakeapi.CustomKind(v1, "Ship", "ships")}
	object := func(kind, namespace, name, owner, by string) *unstructured.Unstructured {
		o := custom(v1, kind, name, map[string]any{"replicas": int64(7)})
		if o.SetNamespace(namespace); owner != "" {
			o.SetOwnerReferences(controlledBy(v1, owner, by))
		}
		return o
	}
	meta := func(namespace, name, apiVersion, kind, owner string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("uid-" + name), OwnerReferences: controlledBy(apiVersion, kind, owner)}
	}
	pod := func(namespace, name, apiVersion, kind, owner string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: meta(namespace, name, apiVersion, kind, owner), Spec: corev1.PodSpec{NodeName: "n1"}}
	}
	for forbidden, mine := range map[string][]string{
		"":      {"hand-a", "init-a", "own-a", "sail-a", "web-1-a"},
		"crews": {"init-a", "own-a", "sail-a", "web-1-a"},
		"ships": {"hand-a", "init-a", "own-a", "web-1-a"},
		"pods":  {"web-1-a"},
	} {
		t.Run("forbidden="+forbidden, func(t *testing.T) {
			t.Parallel()
			api := serve(fakeapi.New(kinds...), apiNode("n1"))
			api.Add(
				object("Fleet", "", "mine", "", ""), object("Fleet", "", "other", "", ""), object("Crew", "", "crew", "Fleet", "mine"),
				object("Ship", "shop", "sail", "Fleet", "mine"), object("Ship", "shop", "stranger", "Fleet", "other"),
				&appsv1.Deployment{ObjectMeta: meta("shop", "web", v1, "Fleet", "mine")},
				&appsv1.ReplicaSet{ObjectMeta: meta("shop", "web-1", "apps/v1", "Deployment", "web")},
				&batchv1.Job{ObjectMeta: meta("jobs", "init", v1, "Fleet", "mine")},
				pod("shop", "web-1-a", "apps/v1", "ReplicaSet", "web-1"), pod("jobs", "init-a", "batch/v1", "Job", "init"),
				pod("shop", "sail-a", v1, "Ship", "sail"), pod("jobs", "own-a", v1, "Fleet", "mine"), pod("jobs", "hand-a", v1, "Crew", "crew"),
				pod("shop", "stranger-a", v1, "Ship", "stranger"), pod("shop", "mirror-a", "v1", "Node", "n1"),
			)
			c := api.connect(t)
			snapshot, err := c.Snapshot(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			api.fault = func(r fakeapi.Request, _ int) fakeapi.Fault {
				if r.Verb == "list" && r.Resource == "nodes" {
					t.Error("it lists nodes, which own no workload")
				}
				if r.Verb == "list" && r.Resource == forbidden {
					return http.StatusForbidden
				}
				return fakeapi.None
			}
			w, err := c.Workload(t.Context(), workload.Ref{APIVersion: v1, Kind: "Fleet", Name: "mine"}, []string{"spec", "tolerations"})
			if err != nil {
				t.Fatal(err)
			}
			var pods []string
			for _, p := range snapshot.WorkloadPods(w.Pods...) {
				pods = append(pods, p.Name)
			}
			slices.Sort(pods)
			if diff := cmp.Diff(mine, pods); diff != "" {
				t.Errorf("pods: %s", diff)
			}
			if own := forbidden != "pods"; own != (w.Wants == 7) {
				t.Errorf("it wants %d pods", w.Wants)
			}
		})
	}
}

// TestWorkload_ofAVersionThatIsNotServedIsNotGone: its state must be kept.
func TestWorkload_ofAVersionThatIsNotServedIsNotGone(t *testing.T) {
	t.Parallel()
	api := serve(fakeapi.New(fakeapi.CustomKind("example.com/v1", "Widget", "widgets")), apiNode("n1"))
	c := api.connect(t)
	for apiVersion, gone := range map[string]bool{"example.com/v1beta1": false, "example.org/v1": true} {
		_, err := c.Workload(t.Context(), workload.Ref{APIVersion: apiVersion, Kind: "Widget", Namespace: "shop", Name: "web"}, []string{"spec", "tolerations"})
		if err == nil || Gone(err) != gone {
			t.Errorf("%s: gone %t, want %t: %v", apiVersion, Gone(err), gone, err)
		}
		if !gone && !strings.Contains(err.Error(), "it serves Widget in example.com/v1, and not in example.com/v1beta1") {
			t.Errorf("%s: %v", apiVersion, err)
		}
	}
}
