// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// fakeAPI is as much of an API server as a rollout needs: nodes, workloads with
// their pods, writes that are guarded by resource version, and a watch. What a test
// has others do happens right before or right after a write of ours, so that it
// happens in every run.
type fakeAPI struct {
	// before is called before a write is carried out; a status other than 0 is
	// answered instead.
	before func(name string) (status int)
	// after is called when a write has been carried out and nobody has seen it
	// yet, with the lock held.
	after func(name string)

	mu      sync.Mutex
	version int
	nodes   map[string]*corev1.Node
	fakeWorkloads
	history []event
	more    chan struct{}
	// closed ends the watches.
	closed chan struct{}
	// begun are the objects of all writes, in the order in which they came; done
	// counts those that changed something.
	begun []string
	done  int
}

type event struct {
	// path is that of the objects of a kind.
	path   string
	Type   string `json:"type"`
	Object any    `json:"object"`
}

const nodesPath = "/api/v1/nodes"

func newFakeAPI(nodes ...*corev1.Node) *fakeAPI {
	a := &fakeAPI{nodes: map[string]*corev1.Node{}, more: make(chan struct{}), closed: make(chan struct{}), fakeWorkloads: newFakeWorkloads()}
	for _, n := range nodes {
		a.store(n)
	}
	return a
}

// follow serves the API for as long as the test runs and returns a cluster that
// follows it.
func (a *fakeAPI) follow(t *testing.T) *kube.Cluster {
	t.Helper()
	return a.serve(t, false)
}

func (a *fakeAPI) serve(t *testing.T, withPods bool) *kube.Cluster {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(func() {
		// Watches outlive their users, and begin anew when they are cut off.
		close(a.closed)
		server.CloseClientConnections()
		server.Close()
	})
	c, err := kube.New(kube.Config{Host: server.URL, Token: "t"})
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

// store puts a new version of a node. The caller holds mu, or is alone.
func (a *fakeAPI) store(n *corev1.Node) {
	n = n.DeepCopy()
	kind := "MODIFIED"
	if a.nodes[n.Name] == nil {
		kind = "ADDED"
	}
	a.nodes[n.Name] = n
	a.showNode(kind, n)
}

func (a *fakeAPI) showNode(kind string, n *corev1.Node) {
	n.Kind, n.APIVersion = "Node", "v1"
	a.show(nodesPath, kind, n)
}

// show tells those who watch. The caller holds mu, or is alone.
func (a *fakeAPI) show(path, kind string, o metav1.Object) {
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	a.history = append(a.history, event{path, kind, o})
	close(a.more)
	a.more = make(chan struct{})
}

// edit is a write of somebody else, without a guard. The caller holds mu.
func (a *fakeAPI) edit(name string, change func(*corev1.Node)) {
	n := a.nodes[name].DeepCopy()
	change(n)
	a.store(n)
}

// meanwhile lets somebody else do something.
func (a *fakeAPI) meanwhile(something func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	something()
}

func (a *fakeAPI) remove(name string) {
	n := a.nodes[name].DeepCopy()
	delete(a.nodes, name)
	a.showNode("DELETED", n)
}

// writes returns the nodes of the writes that have come, and how many were
// carried out.
func (a *fakeAPI) writes() (begun []string, done int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string(nil), a.begun...), a.done
}

// taints returns what every node carries; those with a mark of ours stand after
// a "*".
func (a *fakeAPI) taints() map[string]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := map[string]string{}
	for name, n := range a.nodes {
		record, _ := taint.ParseRecord(n.Annotations[taint.OwnedAnnotation])
		parts := make([]string, 0, len(n.Spec.Taints))
		for _, one := range n.Spec.Taints {
			text := taint.Format(one)
			if mark, ok := record.Of(taint.IDOf(one)); ok && mark.Generation == generation {
				text = "*" + text
			}
			parts = append(parts, text)
		}
		out[name] = strings.Join(parts, " ")
	}
	return out
}

// ServeHTTP answers a request.
func (a *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, one := strings.CutPrefix(r.URL.Path, nodesPath+"/")
	switch {
	case r.URL.Query().Get("watch") != "":
		a.watch(w, r)
	case one && r.Method == http.MethodPatch:
		a.write(w, r, name)
	case one:
		a.mu.Lock()
		defer a.mu.Unlock()
		answerNode(w, a.nodes[name])
	case r.URL.Path != nodesPath:
		a.serveWorkloads(w, r)
	default:
		a.mu.Lock()
		defer a.mu.Unlock()
		list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		list.ResourceVersion = strconv.Itoa(a.version)
		for _, n := range a.nodes {
			list.Items = append(list.Items, *n)
		}
		answer(w, http.StatusOK, list)
	}
}

// begins notes that a write has come; a status other than 0 is answered to it.
func (a *fakeAPI) begins(name string) (status int) {
	a.mu.Lock()
	a.begun = append(a.begun, name)
	before := a.before
	a.mu.Unlock()
	if before != nil {
		status = before(name)
	}
	return status
}

func (a *fakeAPI) write(w http.ResponseWriter, r *http.Request, name string) {
	if status := a.begins(name); status != 0 {
		fail(w, status)
		return
	}
	var patch corev1.Node
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil {
		fail(w, http.StatusBadRequest)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[name]
	if n == nil {
		fail(w, http.StatusNotFound)
		return
	}
	if patch.ResourceVersion != n.ResourceVersion || patch.UID != n.UID {
		fail(w, http.StatusConflict)
		return
	}
	n = n.DeepCopy()
	n.Spec.Taints, n.Annotations = patch.Spec.Taints, patch.Annotations
	maps.DeleteFunc(n.Annotations, func(_, value string) bool { return value == "" })
	a.store(n)
	a.done++
	written := a.nodes[name]
	if a.after != nil {
		a.after(name)
	}
	answerNode(w, written)
}

// watch streams what happens after the version that is asked for. All that
// happened at once is sent at once.
func (a *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	next, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for {
		var news bytes.Buffer
		a.mu.Lock()
		more := a.more
		for ; next < len(a.history); next++ {
			if a.history[next].path == r.URL.Path {
				_ = json.NewEncoder(&news).Encode(a.history[next])
			}
		}
		a.mu.Unlock()
		_, _ = w.Write(news.Bytes())
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case <-a.closed:
			return
		case <-more:
		}
	}
}

func answerNode(w http.ResponseWriter, n *corev1.Node) {
	if n == nil {
		fail(w, http.StatusNotFound)
		return
	}
	answer(w, http.StatusOK, n)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func fail(w http.ResponseWriter, status int) {
	reasons := map[int]metav1.StatusReason{
		http.StatusForbidden: metav1.StatusReasonForbidden, http.StatusNotFound: metav1.StatusReasonNotFound,
		http.StatusConflict: metav1.StatusReasonConflict, http.StatusUnprocessableEntity: metav1.StatusReasonInvalid,
	}
	answer(w, status, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
		Code: int32(status), Reason: reasons[status], Message: "made up by the test",
	})
}

// aNode has the label pool=POOL and taints; those after a "*" are marked as
// ours, those after a "!" as another owner's.
func aNode(name, pool string, notations ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"pool": pool}}}
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
