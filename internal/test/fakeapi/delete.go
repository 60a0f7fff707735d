// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
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

// evict answers the eviction of a pod, by the rules of k8s.io/kubernetes v1.37.2
// pkg/registry/core/pod/storage/eviction.go.
func (s *Server) evict(q *query) *response {
	decoded, err := decodeAs(q, policyv1.SchemeGroupVersion.WithKind("Eviction"))
	if err != nil {
		return failure(err)
	}
	eviction, is := decoded.(*policyv1.Eviction)
	if !is || q.resource.Resource != "pods" {
		return s.notServed(q)
	}
	if eviction.Name != "" && eviction.Name != q.key.name {
		return failure(apierrors.NewBadRequest("name in URL does not match name in Eviction object"))
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	pod, is := s.store.get(q.resource, q.key).(*corev1.Pod)
	if !is {
		return failure(apierrors.NewNotFound(q.groupResource(), q.key.name))
	}
	dryRun := q.dryRun() || len(options.DryRun) > 0
	if !unguarded(pod) {
		if err := s.disrupt(pod, dryRun); err != nil {
			return failure(err)
		}
	}
	if err := preconditions(q.kind, pod, options); err != nil {
		return failure(err)
	}
	s.terminate(q.resource, q.key, options, dryRun)
	return created(&metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}

// unguarded reports whether no PodDisruptionBudget counts a pod (canIgnorePDB).
func unguarded(pod *corev1.Pod) bool {
	switch pod.Status.Phase {
	case corev1.PodSucceeded, corev1.PodFailed, corev1.PodPending:
		return true
	}
	return pod.DeletionTimestamp != nil
}

var budgets = policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets")

// disrupt takes a disruption from the PodDisruptionBudget that covers a pod. Errors: those
// of the API server where there is none left, or several PDBs cover the pod.
func (s *Server) disrupt(pod *corev1.Pod, dryRun bool) error {
	var covering []*policyv1.PodDisruptionBudget
	for _, o := range s.store.list(budgets, pod.Namespace) {
		b, is := o.(*policyv1.PodDisruptionBudget)
		if !is {
			continue
		}
		if selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector); err == nil && b.Spec.Selector != nil && selector.Matches(labels.Set(pod.Labels)) {
			covering = append(covering, b)
		}
	}
	if len(covering) > 1 {
		return bare("This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.")
	}
	if len(covering) == 0 || unhealthyMayGo(pod, covering[0]) {
		return nil
	}
	b := covering[0].DeepCopy()
	switch {
	case b.Status.ObservedGeneration < b.Generation:
		return held(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name))
	case b.Status.DisruptionsAllowed == 0:
		return held(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy))
	case dryRun:
		return nil
	}
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason, ObservedGeneration: b.Status.ObservedGeneration, LastTransitionTime: now(),
		})
	}
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod.Name] = now()
	s.store.put(budgets, b)
	return nil
}

// unhealthyMayGo reports whether a pod that is not ready is evicted without a disruption.
func unhealthyMayGo(pod *corev1.Pod, b *policyv1.PodDisruptionBudget) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return false
		}
	}
	if p := b.Spec.UnhealthyPodEvictionPolicy; p != nil && *p == policyv1.AlwaysAllow {
		return true
	}
	return b.Status.CurrentHealthy >= b.Status.DesiredHealthy && b.Status.DesiredHealthy > 0
}

func held(retryAfter int, why string) error {
	err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", retryAfter)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: why})
	return err
}
