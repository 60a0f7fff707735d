// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// drainRow is a drain of nodes, and what happens meanwhile.
type drainRow struct {
	name  string
	nodes []*corev1.Node
	// pods are on the first node, and evictions of them are answered by before.
	pods   []string
	before func(s *drainScene, r fakeapi.Request) int
	// lingers keeps pods that are evicted, and later comes after three seconds.
	lingers bool
	later   func(s *drainScene)
	// listing is what lists of pods are answered with, once the drain runs.
	listing fakeapi.Fault
	// terminating answers evictions as in a namespace that is deleted.
	terminating bool
	cancelled   bool
	// deletes disables evictions, and asked is how pods are asked to end.
	deletes bool
	asked   string
	// cordoned are the nodes that take no more pods afterwards, and patched those that were written.
	cordoned, patched string
	fails             error
	// left are the pods that the error names.
	left int
}

// TestUpstream_kubectlDrainWaits has the facts of TestCordon and of the last case of TestDrain in
// k8s.io/kubectl v0.37.2 pkg/cmd/drain/drain_test.go, of TestUpdateIfRequired and
// TestCordonHelper_PatchOrReplaceWithContext in pkg/drain/cordon_test.go, and of TestDeletePods,
// TestDeleteOrEvict and TestEvictDuringNamespaceTerminating in pkg/drain/drain_test.go: which nodes are
// written, when a pod counts as gone, and how a drain ends that does not come to its end.
func TestUpstream_kubectlDrainWaits(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	n := func(names ...string) (out []*corev1.Node) {
		for _, name := range names {
			out = append(out, aNode(name, "gpu"))
		}
		return out
	}
	recreate := func(s *drainScene) {
		p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web")
		if there {
			s.api.Remove(p)
		}
		s.onNode("web", "n1", func(p *corev1.Pod) { p.UID = "another" })
	}
	forbidden := func(_ *drainScene, r fakeapi.Request) int {
		return map[bool]int{true: http.StatusForbidden}[r.Resource == "nodes"]
	}
	for _, tt := range []drainRow{
		{name: "a node that takes pods is cordoned", nodes: n("n1"), cordoned: "n1", patched: "n1"},
		{name: "a node that is cordoned is not written", nodes: []*corev1.Node{cordonedNode(aNode("n1", "gpu"))}, cordoned: "n1"},
		{name: "several nodes are cordoned", nodes: n("n1", "n2", "n3"), cordoned: "n1 n2 n3", patched: "n1 n2 n3"},
		{name: "a cordon that is refused leaves the node as it was", nodes: n("n1"), before: forbidden, patched: "n1", fails: kube.ErrForbidden},
		{name: "pods that cannot be listed end it", nodes: n("n1"), pods: []string{"web"}, listing: http.StatusForbidden, cordoned: "n1", patched: "n1", fails: kube.ErrForbidden},

		{name: "a pod is evicted", nodes: n("n1"), pods: []string{"web"}, asked: "evict web", cordoned: "n1", patched: "n1"},
		{name: "a pod is deleted in place of an eviction", nodes: n("n1"), pods: []string{"web"}, deletes: true, asked: "delete web", cordoned: "n1", patched: "n1"},
		{name: "pods that end after a time are waited for", nodes: n("n1"), pods: []string{"web", "db"}, lingers: true, later: func(s *drainScene) { s.end("web"); s.end("db") }, cordoned: "n1", patched: "n1"},
		{name: "another pod of the same name is not waited for", nodes: n("n1"), pods: []string{"web"}, lingers: true, later: recreate, cordoned: "n1", patched: "n1"},
		{name: "pods that do not end are waited for until the time is over", nodes: n("n1"), pods: []string{"web"}, lingers: true, cordoned: "n1", patched: "n1", fails: context.DeadlineExceeded, left: 1},
		{name: "a wait that is cancelled ends", nodes: n("n1"), pods: []string{"web"}, lingers: true, cancelled: true, cordoned: "n1", patched: "n1", fails: context.Canceled, left: 1},

		{name: "a namespace that is deleted refuses the eviction, and its pod ends", nodes: n("n1"), pods: []string{"web"}, terminating: true, later: func(s *drainScene) { s.end("web") }, cordoned: "n1", patched: "n1"},
		{name: "a namespace that is deleted refuses the eviction, and its pod stays", nodes: n("n1"), pods: []string{"web"}, terminating: true, cordoned: "n1", patched: "n1", fails: context.DeadlineExceeded, left: 1},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.run)
		})
	}
}

func (tt drainRow) run(t *testing.T) {
	s := newDrainScene(t, tt.nodes...)
	s.before, s.lingers = tt.before, tt.lingers
	for _, name := range tt.pods {
		s.onNode(name, "n1")
	}
	cluster := s.cluster(t, tt.terminating)
	if _, err := cluster.Snapshot(t.Context()); err != nil {
		t.Fatal(err)
	}
	if tt.listing != fakeapi.None {
		s.failLists(tt.listing)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	time.AfterFunc(3*time.Second, func() {
		if tt.later != nil {
			tt.later(s)
		}
		if tt.cancelled {
			cancel()
		}
	})
	err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: namesOf(tt.nodes), Rules: planner.DrainRules{DisableEviction: tt.deletes}}})
	if !errors.Is(err, tt.fails) || (err != nil) != (tt.fails != nil) {
		t.Errorf("it ends with %v, want %v", err, tt.fails)
	}
	if left := new(DrainError); errors.As(err, &left) && len(left.Waiting) != tt.left {
		t.Errorf("the error names %q, want %d", left.Waiting, tt.left)
	}
	if tt.asked != "" {
		asked := slices.DeleteFunc(slices.Clone(s.done), func(what string) bool {
			return !strings.HasPrefix(what, "evict ") && !strings.HasPrefix(what, "delete ")
		})
		if got := strings.Join(asked, ", "); got != tt.asked {
			t.Errorf("pods are asked to end by %q, want %q", got, tt.asked)
		}
	}
	var cordoned, patched []string
	for _, name := range namesOf(tt.nodes) {
		if n, there := cluster.Node(name); there && n.Unschedulable {
			cordoned = append(cordoned, name)
		}
		if slices.Contains(s.done, "patch "+name) {
			patched = append(patched, name)
		}
	}
	if got := strings.Join(cordoned, " "); got != tt.cordoned {
		t.Errorf("%q take no more pods, want %q", got, tt.cordoned)
	}
	if got := strings.Join(patched, " "); got != tt.patched {
		t.Errorf("%q are written, want %q", got, tt.patched)
	}
}

// kubectl deletes the pods where evictions are not served. Here the drain ends instead of waiting for
// pods that are never evicted, and names the cause: a deletion would bypass PodDisruptionBudgets.
func TestDrain_endsWhereEvictionsAreNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newDrainScene(t, aNode("n1", "gpu"))
		s.onNode("web", "n1")
		cluster := followBy(t, refusing{RoundTripper: s.api.client, unserved: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := s.drain(ctx, cluster, Drain{NodeDrain: planner.NodeDrain{Nodes: []string{"n1"}}})
		if !errors.Is(err, kube.ErrNoEvictions) || time.Since(began) >= evictAgain {
			t.Errorf("it ends after %s with %v", time.Since(began), err)
		}
		if p, there := fakeapi.Get[*corev1.Pod](s.api.Server, namespace, "web"); !there || p.DeletionTimestamp != nil {
			t.Error("the pod is deleted")
		}
	})
}

func namesOf(nodes []*corev1.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, n.Name)
	}
	return out
}

// failLists has lists of pods fail from now on.
func (s *drainScene) failLists(fault fakeapi.Fault) {
	s.api.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
		if r.Verb == "list" && r.Resource == "pods" {
			return fault
		}
		if r.Write() && r.Subresource == "" {
			s.note("%s %s", r.Verb, r.Name)
		}
		return fakeapi.None
	})
}

// cluster follows the server, in which evictions may be refused as in a namespace that is deleted.
func (s *drainScene) cluster(t *testing.T, terminating bool) *kube.Cluster {
	t.Helper()
	if !terminating {
		return s.api.follow(t, true)
	}
	return followBy(t, refusing{RoundTripper: s.api.client})
}

// followBy follows the server that a transport reaches.
func followBy(t *testing.T, transport http.RoundTripper) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.Follow(t.Context(), true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return c
}

// refusing answers evictions as the API server does in a namespace that is deleted, or where
// unserved is set, as it does where it does not serve them.
type refusing struct {
	http.RoundTripper
	unserved bool
}

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.URL.Path, "/eviction") {
		return r.RoundTripper.RoundTrip(req)
	}
	if r.unserved {
		return answering(req, http.StatusNotFound, "text/plain; charset=utf-8", []byte("404 page not found\n")), nil
	}
	body, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden,
		Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace shop is being terminated"}}},
	})
	if err != nil {
		return nil, err
	}
	return answering(req, http.StatusForbidden, "application/json", body), nil
}

func answering(req *http.Request, code int, media string, body []byte) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(bytes.NewReader(body)), Request: req}
}
