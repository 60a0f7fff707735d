// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fakeapi

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// admit sets what admission and the strategies of the API server add to a new object, and
// that a reader could depend on. Add leaves objects as they are.
func (s *Server) admit(q *query, object runtime.Object) error {
	if !q.kind.Cluster && s.store.get(namespaces, key{name: q.key.namespace}) == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, q.key.namespace)
	}
	accessor := mustAccess(object)
	finalize := func(name string) {
		if !slices.Contains(accessor.GetFinalizers(), name) {
			accessor.SetFinalizers(append(accessor.GetFinalizers(), name))
		}
	}
	switch o := object.(type) {
	case *corev1.Namespace:
		if o.Labels == nil {
			o.Labels = map[string]string{}
		}
		o.Labels[corev1.LabelMetadataName] = o.Name
		o.Spec.Finalizers, o.Status.Phase = []corev1.FinalizerName{corev1.FinalizerKubernetes}, corev1.NamespaceActive
	case *corev1.Node:
		notReady := corev1.Taint{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(o.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&notReady) }) {
			o.Spec.Taints = append(o.Spec.Taints, notReady)
		}
	case *corev1.PersistentVolume:
		finalize("kubernetes.io/pv-protection")
		o.Status.Phase = corev1.VolumePending
		moment := now()
		o.Status.LastPhaseTransitionTime = &moment
	case *corev1.PersistentVolumeClaim:
		finalize("kubernetes.io/pvc-protection")
		o.Status.Phase = corev1.ClaimPending
	case *corev1.Pod:
		tolerateByDefault(o)
		o.Status.Phase, o.Status.QOSClass = corev1.PodPending, qualityOf(o)
	}
	return nil
}

// tolerateByDefault gives a pod the tolerations of nodes that are not ready or unreachable that it does not
// have: on its own address alone, creates and updates call it (k8s.io/kubernetes v1.37.2
// plugin/pkg/admission/defaulttolerationseconds/admission.go).
func tolerateByDefault(pod *corev1.Pod) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		has := slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		})
		if !has {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
				Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(300)),
			})
		}
	}
}

// qualityOf returns the quality of service of pods that ask for nothing, or for less than
// their limits. No test needs more here.
func qualityOf(pod *corev1.Pod) corev1.PodQOSClass {
	for _, c := range pod.Spec.Containers {
		if len(c.Resources.Requests) > 0 || len(c.Resources.Limits) > 0 {
			return corev1.PodQOSBurstable
		}
	}
	return corev1.PodQOSBestEffort
}
