// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"fmt"
	"maps"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
)

// create answers a create.
func (s *Server) create(q *query) *response {
	if q.subresource != "" {
		return s.notServed(q)
	}
	object, err := q.decode()
	if err != nil {
		return failure(err)
	}
	accessor := mustAccess(object)
	if accessor.GetName() == "" && accessor.GetGenerateName() != "" {
		accessor.SetName(accessor.GetGenerateName() + string(uuid.NewUUID())[:5])
	}
	if !q.kind.Cluster {
		accessor.SetNamespace(q.key.namespace)
	}
	k := keyOf(object)
	if accessor.GetResourceVersion() != "" {
		return failure(bare("resourceVersion should not be set on objects to be created"))
	}
	accessor.SetUID("")
	if q.kind.Status {
		object = withStatusOf(object, nil)
	}
	if err := s.admit(q, object); err != nil {
		return failure(err)
	}
	if err := q.kind.valid(nil, object); err != nil {
		return failure(err)
	}
	if s.store.get(q.resource, k) != nil {
		return failure(apierrors.NewAlreadyExists(q.groupResource(), k.name))
	}
	s.prepare(q.kind, object)
	if !q.dryRun() {
		s.store.put(q.resource, object)
	}
	return created(object)
}

// update answers an update or a patch, of an object or of its status.
func (s *Server) update(q *query) *response {
	if q.subresource != "" && (q.subresource != "status" || !q.kind.Status) {
		return s.notServed(q)
	}
	old := s.store.get(q.resource, q.key)
	if old == nil {
		return failure(apierrors.NewNotFound(q.groupResource(), q.key.name))
	}
	object, err := s.changed(q, old)
	if err == nil {
		err = s.guard(q, old, object)
	}
	if err != nil {
		return failure(err)
	}
	if q.subresource == "status" {
		object = withStatusOf(old.DeepCopyObject(), object)
	} else if q.kind.Status {
		object = withStatusOf(object, old)
	}
	keepIdentity(q.kind, old, object)
	if err := q.kind.valid(old, object); err != nil {
		return failure(err)
	}
	accessor := mustAccess(object)
	switch {
	case equal(old, object):
		// A request that changes nothing writes nothing.
		return ok(old)
	case q.dryRun():
		return ok(object)
	case accessor.GetDeletionTimestamp() != nil && len(accessor.GetFinalizers()) == 0 && q.resource.Resource != "pods":
		s.store.remove(q.resource, q.key, nil)
		return ok(object)
	}
	s.store.put(q.resource, object)
	return ok(object)
}

// changed returns what an update or a patch makes of an object, and admission of that.
func (s *Server) changed(q *query, old runtime.Object) (object runtime.Object, err error) {
	if q.verb == "patch" {
		object, err = s.patched(q, old)
	} else {
		object, err = q.decode()
	}
	if pod, is := object.(*corev1.Pod); is && err == nil && q.subresource == "" {
		tolerateByDefault(pod)
	}
	return object, err
}

// guard reports a conflict where a write was meant for another version of the object, or
// for another object of its name.
func (s *Server) guard(q *query, old, object runtime.Object) error {
	was, is := mustAccess(old), mustAccess(object)
	if is.GetName() != q.key.name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", is.GetName(), q.key.name))
	}
	if is.GetResourceVersion() != "" && is.GetResourceVersion() != was.GetResourceVersion() {
		return apierrors.NewConflict(q.groupResource(), q.key.name, errModified)
	}
	// A patch with another UID is invalid: that is found later.
	if q.verb == "update" && is.GetUID() != "" && is.GetUID() != was.GetUID() {
		return apierrors.NewConflict(q.groupResource(), q.key.name, fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", is.GetUID(), was.GetUID())) //nolint:staticcheck // The API server's own words.
	}
	return nil
}

var errModified = fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again")

// keepIdentity sets what no write changes, and counts changes of the spec.
func keepIdentity(kind *Kind, old, object runtime.Object) {
	was, is := mustAccess(old), mustAccess(object)
	object.GetObjectKind().SetGroupVersionKind(kind.GroupVersionKind)
	is.SetNamespace(was.GetNamespace())
	if is.GetUID() == "" {
		is.SetUID(was.GetUID())
	}
	is.SetResourceVersion(was.GetResourceVersion())
	is.SetCreationTimestamp(was.GetCreationTimestamp())
	is.SetDeletionTimestamp(was.GetDeletionTimestamp())
	is.SetDeletionGracePeriodSeconds(was.GetDeletionGracePeriodSeconds())
	is.SetGeneration(was.GetGeneration())
	if kind.Generation && specChanged(old, object) {
		is.SetGeneration(was.GetGeneration() + 1)
	}
}

// specChanged reports whether anything but metadata and status has changed. Deployments
// count their annotations too (k8s.io/kubernetes v1.37.2
// pkg/registry/apps/deployment/strategy.go, PrepareForUpdate).
func specChanged(old, object runtime.Object) bool {
	if _, deployment := object.(*appsv1.Deployment); deployment && !reflect.DeepEqual(mustAccess(old).GetAnnotations(), mustAccess(object).GetAnnotations()) {
		return true
	}
	if was, custom := old.(*unstructured.Unstructured); custom {
		is, _ := object.(*unstructured.Unstructured) // Resources hold one type each.
		return !reflect.DeepEqual(content(was), content(is))
	}
	was, is := reflect.ValueOf(old).Elem(), reflect.ValueOf(object).Elem()
	for i := range was.NumField() {
		switch was.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
			continue
		}
		if !apiequality.Semantic.DeepEqual(was.Field(i).Interface(), is.Field(i).Interface()) {
			return true
		}
	}
	return false
}

// content returns the fields of a custom object apart from metadata and status.
func content(o *unstructured.Unstructured) map[string]any {
	out := maps.Clone(o.Object)
	delete(out, "metadata")
	delete(out, "status")
	return out
}

// withStatusOf sets the status of an object to that of another one; nil has none. Stored
// objects are never changed, so that two may share a status.
func withStatusOf(object, other runtime.Object) runtime.Object {
	if u, custom := object.(*unstructured.Unstructured); custom {
		delete(u.Object, "status")
		if from, _ := other.(*unstructured.Unstructured); from != nil && from.Object["status"] != nil {
			u.Object["status"] = from.Object["status"]
		}
		return u
	}
	status := reflect.ValueOf(object).Elem().FieldByName("Status")
	status.SetZero()
	if other != nil {
		status.Set(reflect.ValueOf(other).Elem().FieldByName("Status"))
	}
	return object
}
