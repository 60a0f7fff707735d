// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// podRows has the cases of daemon_controller_test.go about pods of others, about pods that are refused, and
// about a DaemonSet of the same name.
func podRows(t *testing.T, rows *upstream.Rows, strategies []appsv1.DaemonSetUpdateStrategy) {
	t.Helper()
	// Upstream's owner references name nothing, and its third pod is bound to no node.
	controlled := func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{{Controller: new(true)}} }
	unbound := func(p *corev1.Pod) { p.Spec.NodeName = "" }
	for _, tt := range []struct {
		name  string
		nodes int
		play  func(s *daemonScene)
	}{
		{"a full node, and another pod goes", 1, func(s *daemonScene) { s.outlives(func(*corev1.Pod) {}, func(*corev1.Pod) {}) }},
		{"a full node, and a pod of another controller goes", 1, func(s *daemonScene) { s.outlives(controlled, controlled) }},
		{"a full node, and a pod that waits for a node goes", 1, func(s *daemonScene) { s.outlives(controlled, unbound) }},
		{"a DaemonSet of the same name as one before", 1, func(s *daemonScene) {
			s.step(1, 0)
			before := s.set()
			s.api.Remove(before)
			again := before.DeepCopy()
			again.UID, again.ResourceVersion = "another", ""
			s.api.Add(again)
			s.step(1, 0)
		}},
		{"pods that are refused", 100, func(s *daemonScene) {
			s.quota(10)
			s.step(10, 0)
			if got := s.set().Status; got.DesiredNumberScheduled != 100 || got.CurrentNumberScheduled != 10 || got.UpdatedNumberScheduled != 10 {
				s.Errorf("the status is %+v", got)
			}
		}},
		{"pods that are refused and then are not", 100, func(s *daemonScene) {
			s.quota(10)
			s.step(10, 0)
			s.step(0, 0)
			s.quota(1000)
			s.step(90, 0)
		}},
	} {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			for _, strategy := range strategies {
				tt.play(newDaemonScene(t, tt.nodes, strategy))
			}
		})
	}
}

// quota allows this many pods.
func (s *daemonScene) quota(pods int64) {
	hard := corev1.ResourceList{corev1.ResourcePods: *resource.NewQuantity(pods, resource.DecimalSI)}
	s.api.Put(&corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: "pods"}, Status: corev1.ResourceQuotaStatus{Hard: hard}})
}

// outlives has the DaemonSet's pod come to a node that is full of others, and one of another kind go.
func (s *daemonScene) outlives(other, gone func(*corev1.Pod)) {
	requests := corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("50m")}}
	pod := func(name string, change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: daemonNamespace, Name: name},
			Spec:       corev1.PodSpec{NodeName: "node-0", Containers: []corev1.Container{{Name: "main", Resources: requests}}},
		}
		change(p)
		return p
	}
	n, _ := fakeapi.Get[*corev1.Node](s.api, "", "node-0")
	n.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("200m")}
	s.api.Put(n)
	for i := range 4 {
		s.api.Add(pod(fmt.Sprintf("pod-%d", i), other))
	}
	going := pod("gone", gone)
	s.api.Add(going)
	s.change(func(spec *appsv1.DaemonSetSpec) { spec.Template.Spec.Containers[0].Resources = requests })
	s.step(1, 0)
	s.api.Remove(going)
	s.step(0, 0)
}
