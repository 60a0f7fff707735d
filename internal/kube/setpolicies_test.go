// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// podOf is a pod of a StatefulSet, given as namespace and name of the pod.
func podOf(namespace, name string) *snapshot.Pod {
	set, _, _ := snapshot.Ordinal(name)
	owner := snapshot.Owner{Group: "apps", Kind: "StatefulSet", Name: set}
	return &snapshot.Pod{
		Namespace: namespace, Name: name, Node: "n1", UID: types.UID(namespace + name), Scheduling: &snapshot.Scheduling{},
		Controller: &snapshot.Controller{Owner: owner, UID: types.UID(namespace + set)},
	}
}

// The requests for podManagementPolicies follow the number of StatefulSets whose pods are evicted.
func TestJudge_readsThePodManagementPolicyOfEvictedPods(t *testing.T) {
	t.Parallel()
	const list = "GET statefulsets 200"
	refused := func(verbs ...string) faulty {
		return func(r fakeapi.Request, _ int) fakeapi.Fault {
			for _, verb := range verbs {
				if r.Verb == verb && r.Resource == "statefulsets" {
					return http.StatusForbidden
				}
			}
			return fakeapi.None
		}
	}
	kruise := podOf("a", "db-1")
	kruise.Controller.Group = "apps.kruise.io"
	all := map[string]bool{"a/db": true, "a/web": false, "b/db": true}
	for name, tt := range map[string]struct {
		evicted  []*snapshot.Pod
		stay     []*snapshot.Pod
		fault    faulty
		requests []string
		known    map[string]bool
	}{
		"no pod of a StatefulSet":          {evicted: []*snapshot.Pod{{Namespace: "a", Name: "x-1", Node: "n1", Scheduling: &snapshot.Scheduling{}}}},
		"the only pod of a StatefulSet":    {evicted: []*snapshot.Pod{podOf("a", "db-0")}},
		"one of two pods":                  {evicted: []*snapshot.Pod{podOf("a", "db-0")}, stay: []*snapshot.Pod{podOf("a", "db-1")}, requests: []string{"GET db 200"}, known: map[string]bool{"a/db": true}},
		"a pod whose others are not there": {evicted: []*snapshot.Pod{podOf("a", "web-1")}, requests: []string{"GET web 200"}, known: map[string]bool{"a/web": false}},
		"two of one namespace":             {evicted: []*snapshot.Pod{podOf("a", "db-1"), podOf("a", "web-1")}, requests: []string{list}, known: map[string]bool{"a/db": true, "a/web": false}},
		"two of two namespaces":            {evicted: []*snapshot.Pod{podOf("a", "db-1"), podOf("b", "db-1")}, requests: []string{list}, known: all},
		"one that is gone":                 {evicted: []*snapshot.Pod{podOf("a", "gone-1")}, requests: []string{"GET gone 404"}},
		"no right to get": {
			evicted: []*snapshot.Pod{podOf("a", "db-1")}, fault: refused("get"), requests: []string{"GET db 403", list}, known: map[string]bool{"a/db": true, "a/web": false},
		},
		"no right at all":             {evicted: []*snapshot.Pod{podOf("a", "db-1")}, fault: refused("get", "list"), requests: []string{"GET db 403", "GET statefulsets 403"}},
		"a StatefulSet of OpenKruise": {evicted: []*snapshot.Pod{kruise}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1"))
			for key, ordered := range all {
				set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: key[:1], Name: key[2:]}}
				set.Spec.PodManagementPolicy = map[bool]appsv1.PodManagementPolicyType{true: appsv1.OrderedReadyPodManagement, false: appsv1.ParallelPodManagement}[ordered]
				api.Add(set)
			}
			c := api.connect(t)
			if _, err := recreating(t, c); err != nil {
				t.Fatal(err)
			}
			for _, p := range append(tt.stay, tt.evicted...) {
				c.pods.offer(p)
			}
			s, err := recreating(t, c)
			if err != nil {
				t.Fatal(err)
			}
			api.requests()
			api.fault = tt.fault
			times := 0
			for range 2 {
				if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs {
					times++
					return Needs{Evicted: tt.evicted}
				}); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.requests, api.requests()); diff != "" {
					t.Error(diff)
				}
				tt.requests = nil
			}
			got := map[string]bool{}
			for key, ordered := range s.Ordered {
				got[key.Namespace+"/"+key.Name] = ordered
			}
			if tt.known == nil {
				tt.known = map[string]bool{}
			}
			if diff := cmp.Diff(tt.known, got); diff != "" {
				t.Error(diff)
			}
			if want := map[bool]int{true: 2, false: 3}[len(tt.known) == 0]; times != want {
				t.Errorf("judged %d times, want %d", times, want)
			}
		})
	}
}

// The list of StatefulSets that claims need has their policies as well.
func TestJudge_takesThePodManagementPolicyFromTheListForClaims(t *testing.T) {
	t.Parallel()
	api := withStorage()
	c := api.connect(t)
	s, err := recreating(t, c)
	if err != nil {
		t.Fatal(err)
	}
	api.requests()
	evicted := inSet("db", "db-1", "data-db-1")
	evicted.Namespace = "shop"
	if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: []*snapshot.Pod{&evicted}} }); err != nil {
		t.Fatal(err)
	}
	sets := 0
	for _, r := range api.requests() {
		if r == "GET statefulsets 200" || r == "GET db 200" {
			sets++
		}
	}
	if ordered, known := s.Ordered[snapshot.WorkloadKey{Namespace: "shop", Owner: evicted.Controller.Owner}]; !known || !ordered || sets != 1 {
		t.Errorf("known %t, ordered %t, read by %d requests", known, ordered, sets)
	}
}
