// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestDrainNodes_aRefusedPlanNamesNodeGroups: cluster-autoscaler may add a node for the pod that would stay Pending.
func TestDrainNodes_aRefusedPlanNamesNodeGroups(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		c.Crowd(t, 2, 1, func(_ int, node *corev1.Node, pod *corev1.Pod) {
			node.Labels = map[string]string{"host": node.Name}
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: new(true)}}
			pod.Spec.NodeSelector = node.Labels
		})
		report := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler-status"}, Data: map[string]string{
			"status": "nodeGroups:\n- name: gpu-a\n  health: {cloudProviderTarget: 1, maxSize: 3}\n",
		}}
		if _, err := c.Admin.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), report, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		said := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t).PlanAction("kubetaint_drain_nodes", map[string]any{"node_name": "crowd-0", "evictions": map[string]any{"max_pending": 0}})
		acctest.WantAll(t, said.Errors(), "1 pod would stay Pending, and max_pending allows 0", "nodes of an autoscaler (gpu-a)")
	})
}
