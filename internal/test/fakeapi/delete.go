// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// delete answers a delete. Pods that run on a node terminate first: a kubelet deletes
// them for good. Objects with finalizers wait for these.
func (s *Server) delete(q *query) *response {
	options := &metav1.DeleteOptions{}
	if len(q.body) > 0 {
		decoded, err := decodeAs(q, metav1.SchemeGroupVersion.WithKind("DeleteOptions"))
		if err != nil {
			return failure(err)
		}
		options, _ = decoded.(*metav1.DeleteOptions)
	}
	object := s.store.get(q.resource, q.key)
	if object == nil {
		return failure(apierrors.NewNotFound(q.groupResource(), q.key.name))
	}
	if err := preconditions(q.kind, object, options); err != nil {
		return failure(err)
	}
	dryRun := q.dryRun() || len(options.DryRun) > 0
	left, gone := s.terminate(q.resource, q.key, options, dryRun)
	if !gone || q.resource.Resource == "pods" {
		return ok(left)
	}
	return ok(&metav1.Status{Status: metav1.StatusSuccess, Details: &metav1.StatusDetails{
		Name: q.key.name, Group: q.resource.Group, Kind: q.resource.Resource, UID: mustAccess(object).GetUID(),
	}})
}

func preconditions(kind *Kind, object runtime.Object, options *metav1.DeleteOptions) error {
	p, accessor := options.Preconditions, mustAccess(object)
	// The API server names the kind here.
	resource := schema.GroupResource{Group: kind.Group, Resource: kind.Kind}
	switch {
	case p == nil:
		return nil
	case p.UID != nil && *p.UID != accessor.GetUID():
		return apierrors.NewConflict(resource, accessor.GetName(), fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, accessor.GetUID()))
	case p.ResourceVersion != nil && *p.ResourceVersion != accessor.GetResourceVersion():
		return apierrors.NewConflict(resource, accessor.GetName(), fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, accessor.GetResourceVersion()))
	}
	return nil
}

// terminate deletes an object, or begins to. It returns the object as it is then, and
// whether it is gone.
func (s *Server) terminate(r schema.GroupVersionResource, k key, options *metav1.DeleteOptions, dryRun bool) (runtime.Object, bool) {
	object := s.store.get(r, k).DeepCopyObject()
	accessor, grace := mustAccess(object), int64(0)
	if pod, is := object.(*corev1.Pod); is {
		grace = graceOf(pod, options)
	}
	if options.PropagationPolicy != nil && *options.PropagationPolicy == metav1.DeletePropagationForeground {
		accessor.SetFinalizers(append(accessor.GetFinalizers(), metav1.FinalizerDeleteDependents))
	}
	if grace == 0 && len(accessor.GetFinalizers()) == 0 {
		if r.Resource == "pods" {
			begin(accessor, 0)
		}
		if dryRun {
			return object, true
		}
		if r.Resource == "pods" {
			// Watches see it terminate without grace first.
			s.store.put(r, object.DeepCopyObject())
		}
		return s.store.remove(r, k, object), true
	}
	if was := accessor.GetDeletionGracePeriodSeconds(); accessor.GetDeletionTimestamp() != nil && (was == nil || *was <= grace) {
		return object, false
	}
	begin(accessor, grace)
	if !dryRun {
		s.store.put(r, object)
	}
	return object, false
}

// begin marks an object as terminating, which counts as a change of it once.
func begin(accessor metav1.Object, grace int64) {
	if accessor.GetDeletionTimestamp() == nil && accessor.GetGeneration() > 0 {
		accessor.SetGeneration(accessor.GetGeneration() + 1)
	}
	when := metav1.NewTime(time.Now().Add(time.Duration(grace) * time.Second)).Rfc3339Copy()
	accessor.SetDeletionTimestamp(&when)
	accessor.SetDeletionGracePeriodSeconds(&grace)
}

// graceOf returns how long a pod may take to terminate (k8s.io/kubernetes v1.37.2
// pkg/registry/core/pod/strategy.go, CheckGracefulDelete).
func graceOf(pod *corev1.Pod, options *metav1.DeleteOptions) int64 {
	switch {
	case pod.Spec.NodeName == "", pod.Status.Phase == corev1.PodFailed, pod.Status.Phase == corev1.PodSucceeded:
		return 0
	case options.GracePeriodSeconds != nil:
		return *options.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		return *pod.Spec.TerminationGracePeriodSeconds
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}
