// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// testServer is an API server with a controller of StatefulSets, which replaces all pods in
// parallel. Other writers act right before or right after a request of the rollout, so that
// they do in every run.
type testServer struct {
	*fakeapi.Server
	client *fakeapi.Client

	// before is called before a write is carried out, with the number of writes so far;
	// a status other than 0 is answered instead. It must not wait.
	before func(name string, write int) (status int)
	// after is called when a write has been carried out, before its answer.
	after func(name string, write int)
	// read is called after each read of a StatefulSet, before its answer.
	read func(set string, nth int)
	// idle keeps the controller from acting on a write.
	idle bool

	mu sync.Mutex
	// begun has the object of each write, in their order; done counts those that were
	// carried out.
	begun []string
	done  int
	reads map[string]int
	// made counts the pods.
	made int
}

// newServer starts a server with nodes. It must be called inside a bubble. Each write fails
// the test where taints evict pods after it.
func newServer(t *testing.T, nodes ...*corev1.Node) *testServer {
	t.Helper()
	return newServerOf(t, nil, nodes...)
}

// newServerOf is newServer of a cluster that serves more kinds.
func newServerOf(t *testing.T, kinds []fakeapi.Kind, nodes ...*corev1.Node) *testServer {
	t.Helper()
	a := &testServer{Server: fakeapi.New(kinds...), reads: map[string]int{}}
	t.Cleanup(func() {
		a.Close()
		// Watches outlive the last user of a cluster.
		time.Sleep(2 * time.Minute)
	})
	a.store(nodes...)
	a.client = a.Client()
	a.client.OnRequest(func(r fakeapi.Request) fakeapi.Fault {
		if !r.Write() {
			return fakeapi.None
		}
		write := a.begin(r.Name)
		if a.before == nil {
			return fakeapi.None
		}
		return fakeapi.Fault(a.before(r.Name, write))
	})
	a.client.OnAnswer(func(r fakeapi.Request, status int) { a.answered(t, r, status) })
	return a
}

// follow returns a cluster that follows the server as long as the test runs.
func (a *testServer) follow(t *testing.T, withPods bool) *kube.Cluster {
	t.Helper()
	c, err := kube.New(kube.Config{Host: fakeapi.Host, Transport: a.client})
	if err != nil {
		t.Fatal(err)
	}
	release, err := c.Follow(t.Context(), withPods)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(release)
	return c
}

// begin notes a write and returns its number.
func (a *testServer) begin(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.begun = append(a.begun, name)
	return len(a.begun)
}

// answered acts on a request that has been carried out.
func (a *testServer) answered(t *testing.T, r fakeapi.Request, status int) {
	t.Helper()
	switch {
	case r.Verb == "get" && r.Resource == "statefulsets":
		a.mu.Lock()
		a.reads[r.Name]++
		nth := a.reads[r.Name]
		a.mu.Unlock()
		if a.read != nil {
			a.read(r.Name, nth)
		}
	case r.Write() && status == http.StatusOK:
		a.mu.Lock()
		a.done++
		write := len(a.begun)
		a.mu.Unlock()
		if r.Resource == "statefulsets" && !a.idle {
			a.roll(r.Name)
		}
		if pods := a.evicted(); len(pods) > 0 {
			t.Errorf("after write %d, to %s, the taints evict %v", write, r.Name, pods)
		}
		if a.after != nil {
			a.after(r.Name, write)
		}
	}
}

// store adds nodes, or puts them in place of those of their names.
func (a *testServer) store(nodes ...*corev1.Node) {
	for _, n := range nodes {
		a.Put(n)
	}
}

// edit is a write of another client to a node, without a guard.
func (a *testServer) edit(name string, change func(*corev1.Node)) {
	fakeapi.Edit(a.Server, "", name, change)
}

// writes returns the objects of the writes that have begun, and how many were carried out.
func (a *testServer) writes() (begun []string, done int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.begun), a.done
}

// readings returns how often each StatefulSet has been read.
func (a *testServer) readings() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.reads)
}

// taints returns the taints of each node, with a "*" before those that we own.
func (a *testServer) taints() map[string]string {
	out := map[string]string{}
	for _, n := range fakeapi.Objects[*corev1.Node](a.Server) {
		record, _ := taint.ParseRecord(n.Annotations[taint.OwnedAnnotation])
		parts := make([]string, 0, len(n.Spec.Taints))
		for _, one := range n.Spec.Taints {
			text := taint.Format(one)
			if mark, ok := record.Of(taint.IDOf(one)); ok && mark.Generation == generation {
				text = "*" + text
			}
			parts = append(parts, text)
		}
		out[n.Name] = strings.Join(parts, " ")
	}
	return out
}

// aNode has the label pool=POOL and taints; we own those after a "*", another resource owns
// those after a "!".
func aNode(name, pool string, notations ...string) *corev1.Node {
	n := &corev1.Node{}
	n.Name, n.UID, n.Labels = name, types.UID("uid-"+name), map[string]string{"pool": pool}
	var record taint.Record
	for _, s := range notations {
		one, err := taint.Parse(strings.TrimLeft(s, "*!"))
		if err != nil {
			panic(err)
		}
		n.Spec.Taints = append(n.Spec.Taints, one)
		switch s[0] {
		case '*':
			record = append(record, taint.Mark{Key: one.Key, Effect: one.Effect, Owner: "me", Generation: generation})
		case '!':
			record = append(record, taint.Mark{Key: one.Key, Effect: one.Effect, Owner: "other", Generation: "g9"})
		}
	}
	if len(record) > 0 {
		n.Annotations = map[string]string{taint.OwnedAnnotation: record.String()}
	}
	return n
}
