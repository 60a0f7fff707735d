// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// fault is what goes wrong with one request.
type fault struct {
	// status is answered instead of the truth.
	status int
	// cut breaks the connection: before the request is carried out, or after.
	cut string
}

// fakeAPI is an API server for nodes, with knobs for what goes wrong. It guards
// writes by resource version as the real one does, and logs every request.
type fakeAPI struct {
	mu      sync.Mutex
	version int64
	nodes   map[string]*corev1.Node
	// lists answers every other list by its path.
	lists map[string]any
	log   []string
	// fault is asked about every request that is not a watch, before it is
	// carried out; nth counts requests of this method from 1.
	fault func(method, path string, nth int) *fault
	count map[string]int
	// mute keeps the watch from showing anything.
	mute    bool
	history []watched
	more    chan struct{}
}

type watched struct {
	Type   string       `json:"type"`
	Object *corev1.Node `json:"object"`
}

func newFakeAPI(nodes ...*corev1.Node) *fakeAPI {
	api := &fakeAPI{version: 100, nodes: map[string]*corev1.Node{}, lists: map[string]any{}, count: map[string]int{}, more: make(chan struct{})}
	for _, n := range nodes {
		api.store("ADDED", n)
	}
	return api
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

// connect returns a cluster that talks to the fake, through all that Config
// sets up but the network.
func (a *fakeAPI) connect(t *testing.T) *Cluster {
	t.Helper()
	rc, err := Config{Host: "http://cluster.test", Token: "t"}.rest()
	if err != nil {
		t.Fatal(err)
	}
	rc.Dial, rc.Transport = nil, a
	c, err := connect(rc)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// store puts a node into the store as a new version. The caller holds mu, or is
// alone.
func (a *fakeAPI) store(event string, n *corev1.Node) {
	a.version++
	n = n.DeepCopy()
	n.Kind, n.APIVersion, n.ResourceVersion = "Node", "v1", strconv.FormatInt(a.version, 10)
	a.nodes[n.Name] = n
	if event == "DELETED" {
		delete(a.nodes, n.Name)
	}
	a.history = append(a.history, watched{event, n})
	close(a.more)
	a.more = make(chan struct{})
}

// edit is a write of somebody else.
func (a *fakeAPI) edit(name string, change func(*corev1.Node)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.nodes[name].DeepCopy()
	change(n)
	a.store("MODIFIED", n)
}

func (a *fakeAPI) remove(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.store("DELETED", a.nodes[name])
}

// requests returns the log and empties it.
func (a *fakeAPI) requests() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.log
	a.log = nil
	return out
}

func (a *fakeAPI) taints(name string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return taint.FormatAll(a.nodes[name].Spec.Taints)
}

// RoundTrip carries a request out without a network.
func (a *fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Query().Get("watch") != "" {
		return a.watch(r), nil
	}
	var f *fault
	a.mu.Lock()
	a.count[r.Method]++
	if a.fault != nil {
		f = a.fault(r.Method, r.URL.Path, a.count[r.Method])
	}
	a.mu.Unlock()
	rec := httptest.NewRecorder()
	switch {
	case f != nil && f.status != 0:
		rec.Header().Set("Retry-After", "1")
		a.answer(rec, r, f.status, failure(f.status))
	case f != nil && f.cut == "before":
		a.note(r, "cut")
		return nil, syscall.ECONNRESET
	case f != nil:
		a.serve(rec, r)
		return nil, syscall.ECONNRESET
	default:
		a.serve(rec, r)
	}
	return rec.Result(), nil
}

func (a *fakeAPI) serve(w http.ResponseWriter, r *http.Request) {
	name, one := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	a.mu.Lock()
	status, body := http.StatusOK, any(nil)
	switch {
	case r.URL.Path == "/api/v1/nodes":
		list := &corev1.NodeList{TypeMeta: metav1.TypeMeta{Kind: "NodeList", APIVersion: "v1"}}
		list.ResourceVersion = strconv.FormatInt(a.version, 10)
		for _, n := range a.nodes {
			list.Items = append(list.Items, *n)
		}
		body = list
	case one && a.nodes[name] == nil:
		status, body = http.StatusNotFound, failure(http.StatusNotFound)
	case one && r.Method == http.MethodPatch:
		status, body = a.patch(a.nodes[name], r)
	case one:
		body = a.nodes[name]
	case a.lists[r.URL.Path] != nil:
		body = a.lists[r.URL.Path]
	default:
		status, body = http.StatusNotFound, failure(http.StatusNotFound)
	}
	a.mu.Unlock()
	a.answer(w, r, status, body)
}

func (a *fakeAPI) patch(n *corev1.Node, r *http.Request) (int, any) {
	var patch struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
			Annotations     map[string]*string
		}
		Spec struct{ Taints []corev1.Taint }
	}
	if r.Header.Get("Content-Type") != string(types.MergePatchType) || json.NewDecoder(r.Body).Decode(&patch) != nil {
		return http.StatusUnsupportedMediaType, failure(http.StatusUnsupportedMediaType)
	}
	if patch.Metadata.ResourceVersion != n.ResourceVersion || patch.Metadata.UID != n.UID {
		return http.StatusConflict, failure(http.StatusConflict)
	}
	n = n.DeepCopy()
	n.Spec.Taints = patch.Spec.Taints
	for key, value := range patch.Metadata.Annotations {
		if value == nil {
			delete(n.Annotations, key)
			continue
		}
		if n.Annotations == nil {
			n.Annotations = map[string]string{}
		}
		n.Annotations[key] = *value
	}
	a.store("MODIFIED", n)
	return http.StatusOK, a.nodes[n.Name]
}

func (a *fakeAPI) answer(w http.ResponseWriter, r *http.Request, status int, body any) {
	a.note(r, strconv.Itoa(status))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	a.mu.Lock()
	defer a.mu.Unlock()
	_ = json.NewEncoder(w).Encode(body)
}

func (a *fakeAPI) note(r *http.Request, outcome string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.log = append(a.log, fmt.Sprintf("%s %s %s", r.Method, r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:], outcome))
}

// watch streams the events after the version that is asked for.
func (a *fakeAPI) watch(r *http.Request) *http.Response {
	reader, writer := io.Pipe()
	from, _ := strconv.ParseInt(r.URL.Query().Get("resourceVersion"), 10, 64)
	go func() {
		defer writer.Close()
		encoder := json.NewEncoder(writer)
		for {
			a.mu.Lock()
			more := a.more
			news := slices.DeleteFunc(slices.Clone(a.history), func(e watched) bool {
				version, _ := strconv.ParseInt(e.Object.ResourceVersion, 10, 64)
				return a.mute || version <= from || r.URL.Path != "/api/v1/nodes"
			})
			from = a.version
			a.mu.Unlock()
			for _, e := range news {
				if encoder.Encode(e) != nil {
					return
				}
			}
			select {
			case <-r.Context().Done():
				return
			case <-more:
			}
		}
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: reader, Request: r,
	}
}

// failure is the body that the API server answers with an error.
func failure(status int) *metav1.Status {
	nodes := schema.GroupResource{Resource: "nodes"}
	var err *apierrors.StatusError
	switch status {
	case http.StatusNotFound:
		err = apierrors.NewNotFound(nodes, "n1")
	case http.StatusConflict:
		err = apierrors.NewConflict(nodes, "n1", fmt.Errorf("the object has been modified"))
	case http.StatusForbidden:
		err = apierrors.NewForbidden(nodes, "n1", fmt.Errorf("no"))
	case http.StatusUnauthorized:
		err = apierrors.NewUnauthorized("no")
	case http.StatusUnprocessableEntity:
		err = apierrors.NewInvalid(schema.GroupKind{Kind: "Node"}, "n1", nil)
	case http.StatusTooManyRequests:
		err = apierrors.NewTooManyRequests("later", 1)
	default:
		err = apierrors.NewGenericServerResponse(status, "get", nodes, "n1", "broken", 1, true)
	}
	out := err.Status()
	out.Kind, out.APIVersion = "Status", "v1"
	return &out
}
