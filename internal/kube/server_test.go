// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// testServer is an API server with one client, whose requests it logs.
type testServer struct {
	*fakeapi.Server
	client *fakeapi.Client
	// fault returns what goes wrong with a request other than a watch; nth counts those
	// of its method from 1.
	fault faulty

	mu    sync.Mutex
	log   []string
	count map[string]int
}

type faulty func(r fakeapi.Request, nth int) fakeapi.Fault

// newServer returns a server with nodes. A test in a bubble must call it inside.
func newServer(nodes ...*corev1.Node) *testServer { return serve(fakeapi.New(), nodes...) }

func serve(server *fakeapi.Server, nodes ...*corev1.Node) *testServer {
	a := &testServer{Server: server, client: server.Client(), count: map[string]int{}}
	for _, n := range nodes {
		a.Put(n)
	}
	a.client.OnRequest(a.decide)
	a.client.OnAnswer(func(r fakeapi.Request, status int) {
		if r.Verb != "watch" {
			a.note(r, strconv.Itoa(status))
		}
	})
	return a
}

// decide returns what happens to a request, and logs it where the server does not see it.
func (a *testServer) decide(r fakeapi.Request) fakeapi.Fault {
	if r.Verb == "watch" {
		return fakeapi.None
	}
	a.mu.Lock()
	a.count[method(r)]++
	nth := a.count[method(r)]
	a.mu.Unlock()
	if a.fault == nil {
		return fakeapi.None
	}
	f := a.fault(r, nth)
	switch {
	case f > 0:
		a.note(r, strconv.Itoa(int(f)))
	case f == fakeapi.CutBefore:
		a.note(r, "cut")
	}
	return f
}

func method(r fakeapi.Request) string {
	return map[string]string{"get": "GET", "list": "GET", "create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}[r.Verb]
}

func (a *testServer) note(r fakeapi.Request, outcome string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, fmt.Sprintf("%s %s %s", method(r), cmp.Or(r.Subresource, r.Name, r.Resource), outcome))
}

// requests returns the log and empties it.
func (a *testServer) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.log
	a.log = nil
	return out
}

// connect returns a cluster that reaches the server through all that Config sets up but the
// network.
func (a *testServer) connect(t *testing.T) *Cluster {
	t.Helper()
	c, err := New(Config{Host: fakeapi.Host, Transport: a.client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// edit is a write of another client to a node, without a guard.
func (a *testServer) edit(name string, change func(*corev1.Node)) {
	fakeapi.Edit(a.Server, "", name, change)
}

func (a *testServer) remove(name string) { a.Remove(apiNode(name)) }

// holdBack delays what the watch shows after a version.
func (a *testServer) holdBack(version string, lag time.Duration) {
	a.client.OnEvent(func(o metav1.Object) time.Duration {
		if older(version, o.GetResourceVersion()) {
			return lag
		}
		return 0
	})
}

func (a *testServer) taints(name string) string {
	n, _ := fakeapi.Get[*corev1.Node](a.Server, "", name)
	return taint.FormatAll(n.Spec.Taints)
}

func apiNode(name string, taints ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	for _, s := range taints {
		t, err := taint.Parse(s)
		if err != nil {
			panic(err)
		}
		n.Spec.Taints = append(n.Spec.Taints, t)
	}
	return n
}

// on lets something go wrong with the nth request of a method.
func on(wanted string, nth int, f fakeapi.Fault) faulty {
	return func(r fakeapi.Request, n int) fakeapi.Fault {
		if method(r) == wanted && n == nth {
			return f
		}
		return fakeapi.None
	}
}

// onLists lets something go wrong with the lists of resources in all namespaces.
func onLists(f fakeapi.Fault, resources ...string) faulty {
	return func(r fakeapi.Request, _ int) fakeapi.Fault {
		for _, resource := range resources {
			if r.Verb == "list" && r.Namespace == "" && r.Resource == resource {
				return f
			}
		}
		return fakeapi.None
	}
}
