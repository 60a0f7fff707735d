// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"fmt"
	"reflect"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apitypes "k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Server is an API server. It is safe for concurrent use.
type Server struct {
	mu       sync.Mutex
	store    *store
	kinds    []*Kind
	accounts map[string]*Account
	audit    []AuditEvent
	uids     int
	// evicted are the pods that taints have deleted.
	evicted []string
	derived *derived
	// closed ends all watches.
	closed chan struct{}
}

// New returns a server with the namespaces that each cluster has, with all kinds of
// Kubernetes that the provider reads, and with these.
func New(custom ...Kind) *Server {
	s := &Server{store: newStore(), accounts: map[string]*Account{}, derived: &derived{}, closed: make(chan struct{})}
	for _, k := range append(builtin(), custom...) {
		s.kinds = append(s.kinds, &k)
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease} {
		s.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}}})
	}
	return s
}

// Close ends all watches.
func (s *Server) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.closed:
	default:
		close(s.closed)
		s.derived.forget(s.store.history)
	}
}

// Host is the address that clients of the server are configured with. Nothing listens
// there.
const Host = "http://fakeapi.test"

// Config returns how client-go reaches the server, with all rights.
func (s *Server) Config() *rest.Config {
	return &rest.Config{Host: Host, Transport: s.Client(), QPS: -1}
}

// Clientset returns a client with all rights.
func (s *Server) Clientset() kubernetes.Interface {
	c, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		panic(err) // The configuration is constant.
	}
	return c
}

// Add puts objects.
func (s *Server) Add(objects ...runtime.Object) {
	for _, object := range objects {
		s.Put(object)
	}
}

// Compact forgets the history of changes, as etcd does: watches and continued lists that
// began before it are answered with 410 Gone.
func (s *Server) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.store.compact()
}

// kindOf returns the kind of an object.
func (s *Server) kindOf(object runtime.Object) *Kind {
	gvk := object.GetObjectKind().GroupVersionKind()
	if gvk.Empty() {
		gvk = kindOfType(reflect.TypeOf(object))
	}
	return s.kindNamed(gvk)
}

func (s *Server) kindNamed(gvk schema.GroupVersionKind) *Kind {
	for _, k := range s.kinds {
		if k.GroupVersionKind == gvk {
			return k
		}
	}
	panic(fmt.Sprintf("fakeapi does not serve %s", gvk))
}

// kindsOfTypes has the kinds of Go types that were asked for.
var kindsOfTypes sync.Map

// kindOfType returns the kind of a pointer to one of Kubernetes' types.
func kindOfType(t reflect.Type) schema.GroupVersionKind {
	if known, is := kindsOfTypes.Load(t); is {
		return known.(schema.GroupVersionKind) //nolint:forcetypeassert // Nothing else is stored.
	}
	object, _ := reflect.New(t.Elem()).Interface().(runtime.Object) // Types of kindOf implement it.
	known, _, err := types.ObjectKinds(object)
	if err != nil {
		panic(err)
	}
	kindsOfTypes.Store(t, known[0])
	return known[0]
}

// served returns the kind of a resource, nil where it is not served.
func (s *Server) served(r schema.GroupVersionResource) *Kind {
	for _, k := range s.kinds {
		if k.Resource() == r {
			return k
		}
	}
	return nil
}

// Withdraw ends that resources are served, as switching a feature gate off does. Their objects stay.
func (s *Server) Withdraw(resources ...schema.GroupVersionResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kinds = slices.DeleteFunc(slices.Clone(s.kinds), func(k *Kind) bool { return slices.Contains(resources, k.Resource()) })
}

// Serve begins to serve kinds, as installing a CustomResourceDefinition does.
func (s *Server) Serve(kinds ...Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.kinds)
	for _, k := range kinds {
		all = append(all, &k)
	}
	s.kinds = all
}

// Resources returns all resources that are served.
func (s *Server) Resources() []schema.GroupVersionResource {
	var out []schema.GroupVersionResource
	for _, k := range s.kinds {
		out = append(out, k.Resource())
	}
	return out
}

// prepare sets what the server sets in the metadata of a new object.
func (s *Server) prepare(kind *Kind, object runtime.Object) {
	accessor := mustAccess(object)
	object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)
	if accessor.GetUID() == "" {
		s.uids++
		accessor.SetUID(apitypes.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.uids)))
	}
	if accessor.GetCreationTimestamp().Time.IsZero() {
		accessor.SetCreationTimestamp(now())
	}
	if kind.Generation && accessor.GetGeneration() == 0 {
		accessor.SetGeneration(1)
	}
}

func now() metav1.Time { return metav1.Now().Rfc3339Copy() }

func keyOf(object runtime.Object) key {
	accessor := mustAccess(object)
	return key{accessor.GetNamespace(), accessor.GetName()}
}

// serve answers a request that has reached the server.
func (s *Server) serve(q *query) *response {
	account, denied := s.authenticate(q.http)
	var answer *response
	switch {
	case denied != nil:
		answer = failure(denied)
	case q.resource.Empty():
		answer = s.discover(q)
	default:
		answer = s.authorized(account, q)
	}
	s.log(account, q, answer)
	return answer
}

// authorized answers a request about objects.
func (s *Server) authorized(account *Account, q *query) *response {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := account.allows(q); err != nil {
		return failure(err)
	}
	if q.resource.Group == "authorization.k8s.io" {
		return s.review(account, q)
	}
	q.kind = s.served(q.resource)
	if q.kind == nil {
		return s.notServed(q)
	}
	return s.answer(q)
}

func (s *Server) answer(q *query) *response {
	switch q.verb {
	case "get":
		return s.read(q)
	case "list":
		return s.list(q)
	case "watch":
		return s.watch(q)
	case "create":
		if q.subresource == "eviction" {
			return s.evict(q)
		}
		return s.create(q)
	case "update", "patch":
		return s.update(q)
	case "delete":
		return s.delete(q)
	}
	return s.notServed(q)
}
