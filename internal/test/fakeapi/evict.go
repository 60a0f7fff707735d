// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

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
	if eviction.Name != q.key.name {
		return failure(apierrors.NewBadRequest("name in URL does not match name in Eviction object"))
	}
	options := eviction.DeleteOptions
	if options == nil {
		options = &metav1.DeleteOptions{}
	}
	if unsafe := options.IgnoreStoreReadErrorWithClusterBreakingPotential; unsafe != nil && *unsafe {
		at := field.NewPath("deleteOptions", "ignoreStoreReadErrorWithClusterBreakingPotential")
		return failure(apierrors.NewInvalid(policyv1.SchemeGroupVersion.WithKind("Eviction").GroupKind(), q.key.name, field.ErrorList{
			field.Invalid(at, true, "can not be set for pod eviction, try after removing the option"),
		}))
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
	if !dryRun {
		s.store.put(q.resource, evicting(pod))
	}
	s.terminate(q.resource, q.key, options, dryRun)
	return created(&metav1.Status{Status: metav1.StatusSuccess, Code: http.StatusCreated})
}

// evicting returns a pod with the condition that the API server writes before it deletes it
// (addConditionAndDeletePod).
func evicting(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	at := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.DisruptionTarget })
	if at < 0 {
		at, pod.Status.Conditions = len(pod.Status.Conditions), append(pod.Status.Conditions, corev1.PodCondition{})
	}
	pod.Status.Conditions[at] = corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "Eviction API: evicting", LastTransitionTime: now(),
	}
	return pod
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
	if err := allowed(b); err != nil || dryRun {
		return err
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

// maxDisrupted is how many pods a PodDisruptionBudget's controller may not have seen going.
const maxDisrupted = 2000

// allowed reports why a PodDisruptionBudget allows no disruption, nil where it allows one
// (checkAndDecrement).
func allowed(b *policyv1.PodDisruptionBudget) error {
	not := fmt.Sprintf("The disruption budget %s does not allow evicting pods currently", b.Name)
	switch {
	case b.Status.ObservedGeneration < b.Generation:
		return held(10, fmt.Sprintf("The disruption budget %s is still being processed by the server.", b.Name))
	case b.Status.DisruptionsAllowed < 0:
		return forbids(b, "pdb disruptions allowed is negative", not+": pdb disruptions allowed is negative")
	case len(b.Status.DisruptedPods) > maxDisrupted:
		return forbids(b, "DisruptedPods map too big - too many evictions not confirmed by PDB controller", not+": too many pending evictions not confirmed by PDB controller")
	case b.Status.DisruptionsAllowed > 0:
		return nil
	}
	condition := meta.FindStatusCondition(b.Status.Conditions, policyv1.DisruptionAllowedCondition)
	explained := condition != nil && condition.Status == metav1.ConditionFalse && condition.Message != ""
	switch {
	case explained && condition.Reason == policyv1.SyncFailedReason:
		return held(0, not+" because it failed sync: "+condition.Message)
	case b.Status.CurrentHealthy <= b.Status.DesiredHealthy:
		return held(0, fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", b.Name, b.Status.DesiredHealthy, b.Status.CurrentHealthy))
	case explained:
		return held(0, fmt.Sprintf("%s (%s): %s", not, condition.Reason, condition.Message))
	}
	return held(0, not)
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

func forbids(b *policyv1.PodDisruptionBudget, why, cause string) error {
	err := apierrors.NewForbidden(policyv1.Resource("poddisruptionbudget"), b.Name, errors.New(why))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: policyv1.DisruptionBudgetCause, Message: cause})
	return err
}
