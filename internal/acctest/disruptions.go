// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Reasons of evictions, as the condition DisruptionTarget has them before a pod is deleted.
const (
	ByTaint = "DeletionByTaintManager"
	ByDrain = "EvictionByEvictionAPI"
)

// Disruptions notes what makes the pods of a namespace leave, of each the first reason
// that it is given. The function that it returns stops the watch and tells.
func (c *Cluster) Disruptions(t testing.TB, namespace string) func() map[string]string {
	t.Helper()
	reasons := map[string]string{}
	stop := c.watchPods(t, namespace, func(pod *corev1.Pod) {
		if reason := disruption(pod); reason != "" && reasons[pod.Name] == "" {
			reasons[pod.Name] = reason
		}
	})
	return func() map[string]string {
		t.Helper()
		stop()
		return reasons
	}
}

// disruption is why a pod is about to be deleted, "" where it is not.
func disruption(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue {
			return c.Reason
		}
	}
	return ""
}

// watchPods shows each state of the pods of a namespace that are not being deleted
// yet, from now on until the function that it returns is called.
func (c *Cluster) watchPods(t testing.TB, namespace string, visit func(*corev1.Pod)) (stop func()) {
	t.Helper()
	return follow(t, c.Admin.CoreV1().Pods(namespace), metav1.ListOptions{}, func(*corev1.PodList) {}, func(_ watch.EventType, object runtime.Object) {
		if pod, ok := object.(*corev1.Pod); ok && pod.DeletionTimestamp == nil {
			visit(pod)
		}
	})
}
