// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// budgets computes the status of PodDisruptionBudgets (k8s.io/kubernetes v1.37.2
// pkg/controller/disruption/disruption.go, getExpectedPodCount, countHealthyPods, updatePdbStatus and failSafe).
func budgets(api *fakeapi.Server) {
	pods := fakeapi.View[*corev1.Pod](api)
	for _, b := range fakeapi.Objects[*policyv1.PodDisruptionBudget](api) {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil {
			continue
		}
		var covered []*corev1.Pod
		healthy := 0
		for _, p := range pods {
			if p.Namespace == b.Namespace && selector.Matches(labels.Set(p.Labels)) {
				covered = append(covered, p)
				if ready(p) && p.DeletionTimestamp == nil {
					healthy++
				}
			}
		}
		b.Status.ObservedGeneration, b.Status.DisruptionsAllowed = b.Generation, 0
		if expected, desired, known := healthyPods(api, b, covered); known {
			b.Status.ExpectedPods, b.Status.CurrentHealthy, b.Status.DesiredHealthy = int32(expected), int32(healthy), int32(desired)
			if expected > 0 {
				b.Status.DisruptionsAllowed = int32(max(healthy-desired, 0))
			}
		}
		api.Put(b)
	}
}

// healthyPods returns how many pods a PodDisruptionBudget expects, and how many of them it wants to be
// healthy. It is false where the controllers of the pods have no number of replicas and it takes one.
func healthyPods(api *fakeapi.Server, b *policyv1.PodDisruptionBudget, covered []*corev1.Pod) (expected, desired int, known bool) {
	if least := b.Spec.MinAvailable; least != nil && least.Type == intstr.Int {
		return len(covered), least.IntValue(), true
	}
	replicas := map[types.UID]int{}
	for _, p := range covered {
		owner := metav1.GetControllerOf(p)
		if owner == nil {
			continue
		}
		uid, count, known := scaleOf(api, p.Namespace, owner)
		if !known {
			return 0, 0, false
		}
		replicas[uid] = count
	}
	for _, count := range replicas {
		expected += count
	}
	if least := b.Spec.MinAvailable; least != nil {
		desired, _ = intstr.GetScaledValueFromIntOrPercent(least, expected, true)
	} else if most := b.Spec.MaxUnavailable; most != nil {
		unavailable, _ := intstr.GetScaledValueFromIntOrPercent(most, expected, true)
		desired = max(expected-unavailable, 0)
	}
	return expected, desired, true
}

// scaleOf returns the replicas of the controller of pods, the Deployment's in place of its ReplicaSets'.
// Other kinds are not known.
func scaleOf(api *fakeapi.Server, namespace string, owner *metav1.OwnerReference) (types.UID, int, bool) {
	switch owner.Kind {
	case "StatefulSet":
		if s, there := fakeapi.ViewOne[*appsv1.StatefulSet](api, namespace, owner.Name); there {
			return s.UID, int(ptr.Deref(s.Spec.Replicas, 1)), true
		}
	case "ReplicaSet":
		s, there := fakeapi.ViewOne[*appsv1.ReplicaSet](api, namespace, owner.Name)
		if !there {
			break
		}
		if by := metav1.GetControllerOf(s); by != nil {
			if d, there := fakeapi.ViewOne[*appsv1.Deployment](api, namespace, by.Name); there {
				return d.UID, int(ptr.Deref(d.Spec.Replicas, 1)), true
			}
		}
		return s.UID, int(ptr.Deref(s.Spec.Replicas, 1)), true
	}
	return "", 0, false
}
