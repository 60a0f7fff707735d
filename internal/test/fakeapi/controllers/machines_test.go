// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestDrained_evictsAsKubectlDoes: it leaves running pods of DaemonSets of the group apps alone, and of
// no other group (k8s.io/kubectl v0.37.2 pkg/drain/filters.go).
func TestDrained_evictsAsKubectlDoes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		apiVersion, kind string
		phase            corev1.PodPhase
		evicts           bool
	}{
		"a DaemonSet's pod":                       {"apps/v1", "DaemonSet", corev1.PodRunning, false},
		"a DaemonSet's pod that has completed":    {"apps/v1", "DaemonSet", corev1.PodSucceeded, true},
		"a pod of OpenKruise's DaemonSet":         {"apps.kruise.io/v1alpha1", "DaemonSet", corev1.PodRunning, true},
		"a StatefulSet's pod":                     {"apps/v1", "StatefulSet", corev1.PodRunning, true},
		"a pod that no controller owns":           {"", "", corev1.PodRunning, true},
		"a DaemonSet's pod of the group's future": {"apps/v2", "DaemonSet", corev1.PodRunning, false},
	} {
		api, node := fakeapi.New(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}, Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{Phase: tt.phase}}
		if tt.kind != "" {
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: tt.apiVersion, Kind: tt.kind, Name: "o", UID: "o", Controller: new(true)}}
		}
		api.Add(node, pod)
		ended := drained(api, node)
		now, there := fakeapi.Get[*corev1.Pod](api, "shop", "p")
		if gone := !there || now.DeletionTimestamp != nil; gone != tt.evicts || ended == tt.evicts {
			t.Errorf("%s: it is evicted: %t, want %t; the drain has ended: %t", name, gone, tt.evicts, ended)
		}
	}
}
