// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"cmp"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// key names an object within its resource; the namespace is empty for objects that have
// none.
type key struct{ namespace, name string }

// change is one entry of the history that watches are answered from.
type change struct {
	version  int64
	resource schema.GroupVersionResource
	event    watch.EventType
	// object is what the change made of the object, or what it was at last; before is
	// what it was, nil where it was made.
	object, before runtime.Object
}

// store holds the objects and the history of their changes. Stored objects are never
// changed, only replaced. The server's lock guards it.
type store struct {
	version int64
	objects map[schema.GroupVersionResource]map[key]runtime.Object
	// sorted has the names of objects in the order of lists, until one is added or removed:
	// lists of thousands of pods would spend half of their time on sorting. Clones share it.
	sorted  map[schema.GroupVersionResource][]key
	history []change
	// compacted is the newest version that watches and continued lists cannot begin at
	// any more.
	compacted int64
	// pages are the rest of lists that are read in pages, by the version of the list.
	pages map[page][]runtime.Object
	// created counts the objects that have been created.
	created map[schema.GroupVersionResource]int
	// newest has the version of the last change of each resource.
	newest map[schema.GroupVersionResource]int64
	// changed is closed with the next change.
	changed chan struct{}
}

// page is where a list goes on.
type page struct {
	resource  schema.GroupVersionResource
	version   int64
	namespace string
	selector  string
}

func newStore() *store {
	return &store{
		version: 1000, objects: map[schema.GroupVersionResource]map[key]runtime.Object{}, sorted: map[schema.GroupVersionResource][]key{},
		created: map[schema.GroupVersionResource]int{}, newest: map[schema.GroupVersionResource]int64{}, pages: map[page][]runtime.Object{}, changed: make(chan struct{}),
	}
}

func (s *store) get(r schema.GroupVersionResource, k key) runtime.Object {
	return s.objects[r][k]
}

// list returns the objects of a namespace, or of all, in the order in which etcd keeps
// them.
func (s *store) list(r schema.GroupVersionResource, namespace string) []runtime.Object {
	keys, is := s.sorted[r]
	if !is {
		keys = slices.SortedFunc(maps.Keys(s.objects[r]), func(a, b key) int {
			if a.namespace == b.namespace {
				return cmp.Compare(a.name, b.name)
			}
			return cmp.Compare(path(a), path(b))
		})
		s.sorted[r] = keys
	}
	var out []runtime.Object
	if namespace == "" {
		out = make([]runtime.Object, 0, len(keys))
	}
	for _, k := range keys {
		if namespace == "" || k.namespace == namespace {
			out = append(out, s.objects[r][k])
		}
	}
	return out
}

// path is where etcd keeps an object, which decides the order of lists.
func path(k key) string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}

// put stores an object as a new version, and adopts it.
func (s *store) put(r schema.GroupVersionResource, object runtime.Object) {
	accessor := mustAccess(object)
	k := key{accessor.GetNamespace(), accessor.GetName()}
	before := s.objects[r][k]
	event := watch.Modified
	if before == nil {
		event = watch.Added
		s.created[r]++
		delete(s.sorted, r)
	}
	s.stamp(object)
	if s.objects[r] == nil {
		s.objects[r] = map[key]runtime.Object{}
	}
	s.objects[r][k] = object
	s.record(change{version: s.version, resource: r, event: event, object: object, before: before})
}

// remove takes an object out. Watches show it as it was at last, which it adopts, with
// the version of its removal; nil is what is stored.
func (s *store) remove(r schema.GroupVersionResource, k key, last runtime.Object) runtime.Object {
	before := s.objects[r][k]
	delete(s.objects[r], k)
	delete(s.sorted, r)
	if last == nil {
		last = before.DeepCopyObject()
	}
	s.stamp(last)
	s.record(change{version: s.version, resource: r, event: watch.Deleted, object: last, before: before})
	return last
}

func (s *store) stamp(object runtime.Object) {
	s.version++
	mustAccess(object).SetResourceVersion(strconv.FormatInt(s.version, 10))
}

func (s *store) record(c change) {
	s.history, s.newest[c.resource] = append(s.history, c), c.version
	close(s.changed)
	s.changed = make(chan struct{})
}

// since returns the changes of a resource after a version.
func (s *store) since(r schema.GroupVersionResource, version int64) []change {
	from, _ := slices.BinarySearchFunc(s.history, version+1, func(c change, v int64) int { return cmp.Compare(c.version, v) })
	var out []change
	for _, c := range s.history[from:] {
		if c.resource == r {
			out = append(out, c)
		}
	}
	return out
}

// compact forgets the history, as etcd does every five minutes.
func (s *store) compact() {
	s.compacted, s.history = s.version, nil
	clear(s.pages)
}

// selection is which objects a list or a watch is about.
type selection struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func (s selection) String() string { return s.labels.String() + "&" + s.fields.String() }

func (s selection) matches(object runtime.Object) bool {
	if s.namespace == "" && s.everything() {
		return true
	}
	accessor := mustAccess(object)
	if s.namespace != "" && accessor.GetNamespace() != s.namespace {
		return false
	}
	return s.labels.Matches(labels.Set(accessor.GetLabels())) && (s.fields.Empty() || s.fields.Matches(objectFields{object}))
}

// everything reports whether no selector leaves anything out: only then is it known how
// many objects remain after a page.
func (s selection) everything() bool { return s.labels.Empty() && s.fields.Empty() }

func mustAccess(object runtime.Object) metav1.Object {
	accessor, err := meta.Accessor(object)
	if err != nil {
		panic(err) // Only objects with metadata are stored.
	}
	return accessor
}
