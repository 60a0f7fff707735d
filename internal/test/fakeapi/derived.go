// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// derived holds what has been made of stored objects: a map by type for each object. Clones
// share it, because stored objects are never changed, and most are the same in all of them.
type derived struct{ of sync.Map }

// forget drops what was made of the objects that a server has stored itself. Clones that have
// them too make it again.
func (d *derived) forget(history []change) {
	for _, c := range history {
		d.of.Delete(c.object)
	}
}

// Derive returns what a function makes of an object that View has returned: once for all
// servers that are clones of each other. The function must depend on nothing else, and neither it
// nor the caller may change the object or the value. Each type is made in one way alone.
func Derive[T any](s *Server, object runtime.Object, from func() T) T {
	ofObject, known := s.derived.of.Load(object)
	if !known {
		ofObject, _ = s.derived.of.LoadOrStore(object, &sync.Map{})
	}
	types, _ := ofObject.(*sync.Map) // Nothing else is stored.
	if value, known := types.Load(reflect.TypeFor[T]()); known {
		return value.(T) //nolint:forcetypeassert // The key is its type.
	}
	value := from()
	types.Store(reflect.TypeFor[T](), value)
	return value
}
