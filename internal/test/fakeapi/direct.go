// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"maps"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Changes by tests and controllers without requests: they are in no audit log.

// Objects returns copies of all objects of a type, ordered by namespace and name.
func Objects[T runtime.Object](s *Server) []T {
	out := View[T](s)
	for i, o := range out {
		out[i] = o.DeepCopyObject().(T) //nolint:forcetypeassert // A copy has the same type.
	}
	return out
}

// View returns all objects of a type as they are stored, ordered by namespace and name. They
// must not be changed: clones and watches have them too.
func View[T runtime.Object](s *Server) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []T
	for _, o := range s.store.list(kindFor[T](s).Resource(), "") {
		if object, is := o.(T); is {
			out = append(out, object)
		}
	}
	return out
}

// Changed returns the version of the last change of any object of these resources.
func (s *Server) Changed(resources ...schema.GroupVersionResource) (version int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range resources {
		version = max(version, s.store.newest[r])
	}
	return version
}

// kindFor returns the kind of a type.
func kindFor[T runtime.Object](s *Server) *Kind {
	return s.kindNamed(kindOfType(reflect.TypeFor[T]()))
}

// Get returns a copy of an object, and whether it exists.
func Get[T runtime.Object](s *Server, namespace, name string) (T, bool) {
	object, is := ViewOne[T](s, namespace, name)
	if !is {
		return object, false
	}
	copied, is := object.DeepCopyObject().(T)
	return copied, is
}

// ViewOne returns an object as it is stored, and whether it exists. It must not be changed.
func ViewOne[T runtime.Object](s *Server, namespace, name string) (T, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, is := s.store.get(kindFor[T](s).Resource(), key{namespace, name}).(T)
	return object, is
}

// Edit changes an object as it is stored now, so that no other write comes in between. It
// panics where the object does not exist. The change must not call the server.
func Edit[T runtime.Object](s *Server, namespace, name string, change func(T)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := kindFor[T](s)
	old := s.store.get(kind.Resource(), key{namespace, name})
	object := old.DeepCopyObject().(T) //nolint:forcetypeassert // Resources hold one type each.
	change(object)
	if !equal(old, object) {
		s.replace(kind, old, object)
	}
}

// Custom returns copies of all objects of a custom resource, ordered by namespace and name.
func (s *Server) Custom(r schema.GroupVersionResource) []*unstructured.Unstructured {
	out := s.ViewCustom(r)
	for i, u := range out {
		out[i] = u.DeepCopy()
	}
	return out
}

// ViewCustom returns all objects of a custom resource as they are stored, ordered by namespace
// and name. They must not be changed.
func (s *Server) ViewCustom(r schema.GroupVersionResource) []*unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, o := range s.store.list(r, "") {
		if u, is := o.(*unstructured.Unstructured); is {
			out = append(out, u)
		}
	}
	return out
}

// Put stores an object as it is, status and metadata included, in place of the one of its
// name. What changes nothing makes no new version; a change of the spec counts for the
// generation. An object that waited for its last finalizer goes. One that was read before
// another writer has written it is dropped: that change makes a controller look again.
func (s *Server) Put(object runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := s.kindOf(object)
	old := s.store.get(kind.Resource(), keyOf(object))
	// Most of what controllers put is as it was, and not worth a copy.
	if old == nil || !equal(old, object) {
		s.replace(kind, old, object.DeepCopyObject())
	}
}

// replace carries Put out where something changes; old is nil where there is no such object. The
// caller holds the lock, and gives the object away.
func (s *Server) replace(kind *Kind, old, object runtime.Object) {
	if old == nil {
		if mustAccess(object).GetResourceVersion() == "" {
			s.prepare(kind, object)
			s.store.put(kind.Resource(), object)
		}
		return
	}
	if read := mustAccess(object).GetResourceVersion(); read != "" && read != mustAccess(old).GetResourceVersion() {
		return
	}
	deleted, grace := mustAccess(object).GetDeletionTimestamp(), mustAccess(object).GetDeletionGracePeriodSeconds()
	keepIdentity(kind, old, object)
	mustAccess(object).SetDeletionTimestamp(deleted)
	mustAccess(object).SetDeletionGracePeriodSeconds(grace)
	switch {
	case equal(old, object):
	case deleted != nil && len(mustAccess(object).GetFinalizers()) == 0 && kind.Kind != "Pod":
		s.store.remove(kind.Resource(), keyOf(object), object)
	default:
		s.store.put(kind.Resource(), object)
	}
}

// Created returns how many objects of a resource have been created so far.
func (s *Server) Created(r schema.GroupVersionResource) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.created[r]
}

// Delete deletes an object as a request without options does; one that is gone is no error.
func (s *Server) Delete(object runtime.Object) { s.remove(object, &metav1.DeleteOptions{}) }

// Remove takes an object out immediately, whatever its grace period.
func (s *Server) Remove(object runtime.Object) {
	none := int64(0)
	s.remove(object, &metav1.DeleteOptions{GracePeriodSeconds: &none})
}

func (s *Server) remove(object runtime.Object, options *metav1.DeleteOptions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.kindOf(object).Resource()
	if s.store.get(r, keyOf(object)) != nil {
		s.terminate(r, keyOf(object), options, false)
	}
}

// Run calls reconcile now, a moment after each change, and at the time that it returns, if any, until the
// server is closed.
func (s *Server) Run(moment time.Duration, reconcile func() (again time.Time)) {
	for {
		s.mu.Lock()
		changed := s.store.changed
		s.mu.Unlock()
		var due <-chan time.Time
		if again := reconcile(); !again.IsZero() {
			due = time.After(time.Until(again))
		}
		select {
		case <-s.closed:
			return
		case <-due:
			continue
		case <-changed:
		}
		select {
		case <-s.closed:
			return
		case <-time.After(moment):
		}
	}
}

// Clone returns a server with the same objects and accounts, and with none of the history
// and of the requests. Controllers must be started again.
func (s *Server) Clone() *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &Server{store: newStore(), kinds: s.kinds, accounts: maps.Clone(s.accounts), uids: s.uids, derived: s.derived, closed: make(chan struct{})}
	for r, objects := range s.store.objects {
		out.store.objects[r] = maps.Clone(objects)
	}
	out.store.sorted = maps.Clone(s.store.sorted)
	out.store.created, out.store.newest = maps.Clone(s.store.created), maps.Clone(s.store.newest)
	out.store.version, out.store.compacted = s.store.version, s.store.version
	return out
}

// Version returns the version of the newest change: servers that were cloned from one another
// hold the same where it is the same and no request has written since.
func (s *Server) Version() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.version
}

// Serves reports whether a resource is served.
func (s *Server) Serves(r schema.GroupVersionResource) bool { return s.served(r) != nil }

// Evict asks for a pod to be evicted, and reports whether PodDisruptionBudgets allow it.
func (s *Server) Evict(e *policyv1.Eviction) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := key{e.Namespace, e.Name}
	pod, is := s.store.get(pods, k).(*corev1.Pod)
	if !is {
		return true
	}
	if !unguarded(pod) && s.disrupt(pod, false) != nil {
		return false
	}
	s.terminate(pods, k, &metav1.DeleteOptions{}, false)
	return true
}

// NoteEviction notes that a taint deletes a pod, for Evictions.
func (s *Server) NoteEviction(p *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted = append(s.evicted, p.Namespace+"/"+p.Name)
}

// Evictions returns the pods that taints have deleted, by namespace and name.
func (s *Server) Evictions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.evicted)
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")
