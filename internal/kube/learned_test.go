// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestSnapshot_learnsFewControllersByName: rollouts have made controllers after the first reading. What it takes
// to learn of them follows their number, and not that of all controllers.
func TestSnapshot_learnsFewControllersByName(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// before is how many ReplicaSets there are before, kind that of the new ones, and namespaces where these are.
		before     int
		kind       string
		namespaces []string
		gone       bool
		fault      faulty
		requests   []string
		owner      string
	}{
		"one": {namespaces: []string{"a"}, requests: []string{"GET new-0 200"}},
		"two in one namespace": {
			namespaces: []string{"a", "a"}, requests: []string{"GET replicasets 200"},
		},
		"two in a cluster with one page": {before: 100, namespaces: []string{"a", "b"}, requests: []string{"GET replicasets 200"}},
		"three in a cluster with three pages": {
			before: 2*pageSize + 1, namespaces: []string{"a", "b", "b"}, requests: []string{"GET new-0 200", "GET new-1 200", "GET new-2 200"},
		},
		"one that is gone": {namespaces: []string{"a"}, gone: true, requests: []string{"GET new-0 404"}, owner: "ReplicaSet/new-0"},
		"one that may not be got": {
			namespaces: []string{"a"}, requests: []string{"GET new-0 403", "GET replicasets 200"}, fault: func(r fakeapi.Request, _ int) fakeapi.Fault {
				if r.Verb == "get" {
					return http.StatusForbidden
				}
				return fakeapi.None
			},
		},
		"a ReplicationController": {kind: "ReplicationController", namespaces: []string{"a"}, requests: []string{"GET replicationcontrollers 200"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1"))
			for n := range tc.before {
				api.Add(&appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "old", Name: fmt.Sprintf("old-%d", n), UID: types.UID(fmt.Sprintf("old-%d", n))}})
			}
			c := api.connect(t)
			if _, err := c.Snapshot(t.Context()); err != nil {
				t.Fatal(err)
			}
			var pods []*snapshot.Pod
			for n, namespace := range tc.namespaces {
				made := metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("new-%d", n), UID: types.UID(fmt.Sprintf("new-%d", n)), OwnerReferences: controlledBy("apps/v1", "Deployment", "web")}
				controller := snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: made.Name}
				switch {
				case tc.kind != "":
					controller.Group, controller.Kind = "", tc.kind
					api.Add(&corev1.ReplicationController{ObjectMeta: made})
				case !tc.gone:
					api.Add(&appsv1.ReplicaSet{ObjectMeta: made})
				}
				p := &snapshot.Pod{Namespace: namespace, Name: "web-" + made.Name, Node: "n1", Scheduling: &snapshot.Scheduling{}, Controller: &snapshot.Controller{Owner: controller, UID: made.UID}}
				c.pods.offer(p)
				pods = append(pods, p)
			}
			api.fault = tc.fault
			api.requests()
			for range 2 {
				s, err := c.Snapshot(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range pods {
					if got, want := s.Owner(p).String(), cmp.Or(tc.owner, "Deployment/web"); got != want {
						t.Errorf("pod %s belongs to %s, want %s", p.Name, got, want)
					}
				}
				// Admission in the namespaces of the pods is asked for as well.
				requests := slices.DeleteFunc(api.requests(), func(r string) bool { return !strings.Contains(r, "new-") && !strings.Contains(r, "repli") })
				slices.Sort(requests)
				if !slices.Equal(requests, tc.requests) {
					t.Errorf("sent %v, want %v", requests, tc.requests)
				}
				tc.requests = nil
			}
		})
	}
}
