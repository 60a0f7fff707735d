// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package acctest

import (
	"sync"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// What makes a pod leave, as its condition DisruptionTarget says before it is deleted.
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
	pods := c.Admin.CoreV1().Pods(namespace)
	list, err := pods.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	watcher, err := pods.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	must(t, err)
	var wg sync.WaitGroup
	var stopped atomic.Bool
	wg.Go(func() {
		for event := range watcher.ResultChan() {
			if pod, ok := event.Object.(*corev1.Pod); ok && event.Type != watch.Error && pod.DeletionTimestamp == nil {
				visit(pod)
			}
		}
		if !stopped.Load() && t.Context().Err() == nil {
			t.Error("the watch of pods has ended: what came after that was not seen")
		}
	})
	return func() {
		t.Helper()
		stopped.Store(true)
		watcher.Stop()
		wg.Wait()
	}
}
