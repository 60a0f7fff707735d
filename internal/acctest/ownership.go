// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// writer is one test as the API server sees it: the user agent of its admin client, and
// the service accounts of its providers. All tests of a run share one cluster, and each may
// write only to objects that it has created.
type writer struct {
	// id begins the name of each service account and is part of the user agent.
	id string

	mu sync.Mutex
	// tokens are those of the service account with the documented rights, by the address of
	// the API server.
	tokens   map[string]func() (string, error)
	writes   []write
	reported map[write]bool
	// unproved are kinds of the provider's requests that no script of the conformance
	// test has.
	unproved map[string]bool
	// shared are tolerations that retire with taints which other tests may have as well.
	shared []string
	// machineNodes are the nodes of the test's machines, whose names the cloud chooses.
	machineNodes map[string]bool
}

// write is a write that the API server carried out.
type write struct {
	verb string
	object
	// byProvider is set for the provider's writes, and not for those of the test itself.
	byProvider bool
}

// object names an object of the cluster.
type object struct{ resource, namespace, name string }

// String is the form in which failures name a write.
func (w write) String() string {
	return strings.TrimSpace(w.verb + " " + w.resource + " " + strings.TrimPrefix(w.namespace+"/"+w.name, "/"))
}

// writers are those of this process, by the name of their top-level test.
var writers = struct {
	sync.Mutex
	byTest map[string]*writer
	byID   map[string]*writer
}{byTest: map[string]*writer{}, byID: map[string]*writer{}}

// writerPrefix begins the ids of writers, all of which have the same length.
const writerPrefix = "acc-"

// writerOf returns the writer of a test, which its subtests share.
func writerOf(t testing.TB) *writer {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	writers.Lock()
	defer writers.Unlock()
	if w := writers.byTest[top]; w != nil {
		return w
	}
	w := &writer{id: Name(t, strings.TrimSuffix(writerPrefix, "-")), tokens: map[string]func() (string, error){}, reported: map[write]bool{}, unproved: map[string]bool{}, machineNodes: map[string]bool{}}
	writers.byTest[top], writers.byID[w.id] = w, w
	return w
}

func (w *writer) note(one write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.writes = append(w.writes, one)
}

// providerAgent begins the user agent of the provider.
const providerAgent = "terraform-provider-kubetaint/"

// methods are those of the audit log's verbs; the others are GET.
var methods = map[string]string{"create": http.MethodPost, "update": http.MethodPut, "patch": http.MethodPatch, "delete": http.MethodDelete, "deletecollection": http.MethodDelete}

// noteKind notes a request of the provider.
func (w *writer) noteKind(verb, uri string) {
	address, err := url.Parse(uri)
	if err != nil {
		return
	}
	unpin(address)
	kind := fakeapi.RequestKind(cmp.Or(methods[verb], http.MethodGet), address)
	if kind == "" || fakeapi.Conforming(kind) {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unproved[kind] = true
}

// addMachine registers a machine and its node as owned by the test.
func (w *writer) addMachine(m *machinev1beta1.Machine) {
	if w == nil || m.Status.NodeRef == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.machineNodes[m.Status.NodeRef.Name] = true
}

// toleratingResources are those in which any apply removes tolerations that no resource claims
// once it has taken away the last taint that needed them, whatever put them there.
var toleratingResources = []string{"deployments", "statefulsets", "daemonsets", "cronjobs", "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}

// creations are the objects that a test has created.
type creations map[object]bool

// created returns the objects that the writer has created. The caller holds mu.
func (w *writer) created() creations {
	out := creations{}
	for _, one := range w.writes {
		if one.verb == "create" {
			out[one.object] = true
		}
	}
	return out
}

// holds reports whether a write was to one of them, to an object in a namespace of theirs,
// or to what controllers have made of one: that bears its name, such as pods and machines.
func (c creations) holds(one write) bool {
	if c[one.object] || one.namespace != "" && c[object{"namespaces", "", one.namespace}] {
		return true
	}
	for o := range c {
		if o.name != "" && strings.HasPrefix(one.name, o.name+"-") {
			return true
		}
	}
	return false
}

// strange returns the writes to objects that the test has not created, each once.
func (w *writer) strange() []write {
	w.mu.Lock()
	defer w.mu.Unlock()
	created := w.created()
	var out []write
	for _, one := range w.writes {
		own := created.holds(one) || one.resource == "nodes" && w.machineNodes[one.name]
		removesUnclaimed := one.byProvider && (one.verb == "patch" || one.verb == "update") && slices.Contains(toleratingResources, one.resource)
		if !own && !removesUnclaimed && !w.reported[one] {
			w.reported[one] = true
			out = append(out, one)
		}
	}
	return out
}

// wantOwnWrites fails the test where it, or its provider, has written to an object that it
// has not created. The API server's audit log tells, so that it is not checked on a cluster
// that is not the test bed's.
func (c *Cluster) wantOwnWrites(t testing.TB, w *writer) {
	t.Helper()
	if c.dir == "" {
		return
	}
	log, err := followed(filepath.Join(c.dir, "audit.log"))
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	sentinel := Name(t, "sentinel")
	_, _ = c.Admin.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, sentinel, metav1.GetOptions{})
	if err := log.reach(ctx, sentinel); err != nil {
		t.Errorf("reading what the test has written: %v", err)
	}
	for _, one := range w.strange() {
		t.Errorf("the test has not created the object of this write: %s", one)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, one := range w.shared {
		if c.alone {
			break
		}
		t.Errorf("a toleration retires, and other tests may have its taint: %s: give the taint a key of the test's own, by OwnTaints", one)
	}
	w.shared = nil
	for _, kind := range slices.Sorted(maps.Keys(w.unproved)) {
		t.Errorf("the provider sends %q, and no conformance script of the fake API server does: add a case to internal/test/fakeapi/testdata/conformance", kind)
	}
}

// auditTail reads the audit log as it grows.
type auditTail struct {
	mu      sync.Mutex
	seen    map[string]bool
	changed chan struct{}
	err     error
	// last is the line that was read last.
	last []byte
}

// tails are the logs that are followed, by path: one reader serves all tests of a process.
var tails = struct {
	sync.Mutex
	byPath map[string]*auditTail
}{byPath: map[string]*auditTail{}}

// followed follows the log of a shared cluster.
func followed(path string) (*auditTail, error) {
	tails.Lock()
	defer tails.Unlock()
	if tail := tails.byPath[path]; tail != nil {
		return tail, nil
	}
	tail, err := followLog(path)
	if err == nil {
		tails.byPath[path] = tail
	}
	return tail, err
}

func followLog(path string) (*auditTail, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if _, err := file.Seek(0, io.SeekEnd); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	tail := &auditTail{seen: map[string]bool{}, changed: make(chan struct{})}
	go tail.run(file)
	return tail, nil
}

// tailEvery is how often the log is read on from its end.
const tailEvery = 20 * time.Millisecond

func (a *auditTail) run(file *os.File) {
	lines := bufio.NewReaderSize(file, 1<<20)
	var rest []byte
	for {
		line, err := lines.ReadBytes('\n')
		rest = append(rest, line...)
		if errors.Is(err, io.EOF) {
			time.Sleep(tailEvery)
			continue
		}
		if err != nil {
			a.mu.Lock()
			a.err = err
			close(a.changed)
			a.mu.Unlock()
			return
		}
		a.line(rest)
		a.mu.Lock()
		a.last = append(a.last[:0], rest...)
		a.mu.Unlock()
		rest = rest[:0]
	}
}

// line takes one line of the log.
func (a *auditTail) line(line []byte) {
	if !bytes.Contains(line, []byte(rightsNamespace)) {
		return
	}
	var event struct {
		Verb, UserAgent, RequestURI string
		User                        struct{ Username string }
		ObjectRef                   struct{ Resource, Subresource, Namespace, Name string }
		ResponseStatus              struct{ Code int }
		// RequestObject is there for what providers write to workloads and policies.
		RequestObject json.RawMessage
	}
	if json.Unmarshal(line, &event) != nil {
		return
	}
	if strings.HasPrefix(event.ObjectRef.Name, "sentinel-") {
		a.mu.Lock()
		a.seen[event.ObjectRef.Name] = true
		close(a.changed)
		a.changed = make(chan struct{})
		a.mu.Unlock()
		return
	}
	id, isUser := strings.CutPrefix(event.User.Username, "system:serviceaccount:"+rightsNamespace+":")
	if !isUser {
		_, id, _ = strings.Cut(event.UserAgent, rightsNamespace+"/")
	}
	one := write{event.Verb, object{event.ObjectRef.Resource, event.ObjectRef.Namespace, event.ObjectRef.Name}, isUser}
	// A pod is bound or evicted by the creation of a subresource.
	if one.verb == "create" && event.ObjectRef.Subresource != "" {
		one.verb = "create " + event.ObjectRef.Subresource + " of"
	}
	w := writerWith(id)
	if w != nil && strings.HasPrefix(event.UserAgent, providerAgent) {
		w.noteKind(event.Verb, event.RequestURI)
	}
	if w == nil || !slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, event.Verb) {
		return
	}
	carriedOut := event.ResponseStatus.Code >= 200 && event.ResponseStatus.Code < 300
	if carriedOut && !strings.Contains(event.RequestURI, "dryRun=") && !strings.HasSuffix(one.resource, "reviews") {
		w.note(one)
		w.noteShared(shared(event.RequestObject, one))
	}
}

// writerWith returns the writer whose id begins a text.
func writerWith(text string) *writer {
	const length = len(writerPrefix) + 16
	if len(text) < length {
		return nil
	}
	writers.Lock()
	defer writers.Unlock()
	return writers.byID[text[:length]]
}

// reach waits until a sentinel has been read.
func (a *auditTail) reach(ctx context.Context, sentinel string) error {
	for {
		a.mu.Lock()
		seen, changed, err := a.seen[sentinel], a.changed, a.err
		delete(a.seen, sentinel)
		a.mu.Unlock()
		if seen || err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			a.mu.Lock()
			defer a.mu.Unlock()
			return fmt.Errorf("waiting until the audit log has what was done: %w; the last line was %s", ctx.Err(), a.last)
		}
	}
}
