// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// autoscaled makes nodes crowd-0 to crowd-2 with a pod each, of which that of crowd-0 fits no other node, and the report of
// cluster-autoscaler about the node group gpu-a.
func autoscaled(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	c.Crowd(t, 3, 1, func(n int, node *corev1.Node, pod *corev1.Pod) {
		node.Labels = map[string]string{"host": node.Name}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db", Controller: new(true)}}
		if n == 0 {
			pod.Spec.NodeSelector = node.Labels
		}
	})
	report := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "cluster-autoscaler-status"}, Data: map[string]string{
		"status": "nodeGroups:\n- name: gpu-a\n  health: {cloudProviderTarget: 1, maxSize: 3}\n",
	}}
	if _, err := c.Admin.CoreV1().ConfigMaps(metav1.NamespaceSystem).Create(t.Context(), report, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestNodeTaints_anApplyThatExceedsALimitNamesNodeGroups: between plan and apply another pod comes that stays Pending.
func TestNodeTaints_anApplyThatExceedsALimitNamesNodeGroups(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		autoscaled(t, c)
		i, config := newInstance(), map[string]any{
			"node_name": "crowd-0", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pending": 1},
		}
		planned := (&acctest.Terraform{Provider: c.Provider(t)}).Plan(t, i, config)
		if e := planned.Diagnostics.Errors(); e != "" {
			t.Fatal(e)
		}
		one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "other", OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "other", UID: "other", Controller: new(true)}}}}
		one.Spec = corev1.PodSpec{NodeName: "crowd-0", NodeSelector: map[string]string{"host": "crowd-0"}, Containers: []corev1.Container{{Name: "main"}}}
		// Command lines plan once more right before they apply.
		apply := (&acctest.Terraform{Provider: c.Provider(t)}).Walk(t)
		apply.Between = func() {
			if _, err := c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), one, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		said := apply.ApplyChange(i, planned, config).Errors()
		if !strings.Contains(said, "2 pods would stay Pending, and max_pending allows 1") || !strings.Contains(said, "Not modelled: nodes of an autoscaler (gpu-a).") {
			t.Error(said)
		}
	})
}

// TestNodeTaints_plansReadNodeGroupsForPendingPodsAlone: the report of cluster-autoscaler costs a request in the
// plans that name it, and none in others.
func TestNodeTaints_plansReadNodeGroupsForPendingPodsAlone(t *testing.T) {
	t.Parallel()
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		autoscaled(t, c)
		audit, provider := c.Audit(t)
		for _, tt := range []struct {
			name, node string
			limit      any
			reads      int
			says       string
		}{
			{name: "a pod that fits another node", node: "crowd-1"},
			{name: "a pod that stays Pending", node: "crowd-0", reads: 1, says: "Not modelled: nodes of an autoscaler (gpu-a)."},
			{name: "a limit is exceeded", node: "crowd-0", limit: map[string]any{"max_pending": 0}, reads: 1, says: "Not modelled: nodes of an autoscaler (gpu-a)."},
		} {
			audit.Reset()
			planned := (&acctest.Terraform{Provider: provider}).Plan(t, newInstance(), map[string]any{
				"node_name": tt.node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": tt.limit,
			})
			said := planned.Diagnostics.Errors() + planned.Diagnostics.Warnings()
			if _, count := requested(t, tt.name, audit); count["get configmaps"] != tt.reads || !strings.Contains(said, tt.says) || strings.Contains(said, "autoscaler") != (tt.says != "") {
				t.Errorf("%s: %v\n%s", tt.name, count, said)
			}
		}
	})
}
