// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccWorkloadTolerations_aPodOfADaemonSetOnADeadNodeHoldsUpNothing: its controller makes
// no other pod for the node while that one is there, and would make it from the newest
// template.
func TestAccWorkloadTolerations_aPodOfADaemonSetOnADeadNodeHoldsUpNothing(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "a node has no kubelet")
	s := openShop(t)
	other, dead := acctest.Name(t, "node"), acctest.Name(t, "node")
	s.c.Node(t, acctest.Node{Name: other, Labels: map[string]string{"shop": s.pool}})
	// The one that never ends must not use up what may be missing.
	thing := s.make("DaemonSet", "agent", 2, "", map[string]any{"updateStrategy": map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": 2}}})
	s.c.Node(t, acctest.Node{Name: dead, Labels: map[string]string{"shop": s.pool}, Quiet: true, Allocatable: corev1.ResourceList{"pods": resource.MustParse("10"), "cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}})
	on := func() (names []string) {
		pods, err := s.c.Admin.CoreV1().Pods(s.namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + dead})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pods.Items {
			if names = append(names, p.Name); p.DeletionTimestamp != nil {
				names = append(names, "terminating")
			}
		}
		return names
	}
	s.until("there is a pod for the node", func() bool { return len(on()) == 1 })
	pod := on()[0]
	s.ready(pod)
	if err := s.c.Admin.CoreV1().Pods(s.namespace).Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(600))}); err != nil {
		t.Fatal(err)
	}
	i := s.fresh()
	if d := s.tf.Apply(t, i, s.manage(thing, "team=a:NoExecute", map[string]any{"timeouts": map[string]any{"create": "1m"}})); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	s.wantPods("agent", 2, "team=a:NoExecute", "DaemonSet")
	if got := on(); !slices.Equal(got, []string{pod, "terminating"}) {
		t.Fatalf("on the dead node are %v, so that nothing is shown", got)
	}
}

// TestAccWorkloadTolerations_aRecreatedDeploymentWithADeadNode: its controller creates no
// ReplicaSet of the newest template while an old pod is terminating, and creates every pod from that then.
func TestAccWorkloadTolerations_aRecreatedDeploymentWithADeadNode(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "a node has no kubelet")
	s := openShop(t)
	thing := s.make("Deployment", "web", 1, "", map[string]any{"strategy": map[string]any{"type": "Recreate"}})
	dead := acctest.Name(t, "node")
	s.c.Patch(t, s.pool, `{"spec":{"unschedulable":true}}`)
	s.c.Node(t, acctest.Node{Name: dead, Labels: map[string]string{"shop": s.pool}, Quiet: true, Allocatable: corev1.ResourceList{"pods": resource.MustParse("10"), "cpu": resource.MustParse("4"), "memory": resource.MustParse("8Gi")}})
	pods := s.c.Admin.CoreV1().Pods(s.namespace)
	s.c.Change(t, thing, "somebody", `{"spec":{"replicas":2}}`)
	pod := ""
	s.until("there is a pod for the node", func() bool {
		found, err := pods.List(t.Context(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + dead})
		if err != nil || len(found.Items) == 0 {
			return false
		}
		pod = found.Items[0].Name
		return true
	})
	s.ready(pod)
	s.c.Patch(t, dead, `{"spec":{"unschedulable":true}}`)
	s.c.Uncordon(t, s.pool)
	if err := pods.Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(600))}); err != nil {
		t.Fatal(err)
	}
	s.c.Running(t, s.namespace, "web", 2)

	i := s.fresh()
	if d := s.tf.Apply(t, i, s.manage(thing, "team=a:NoExecute", map[string]any{"timeouts": map[string]any{"create": "1m"}})); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	taints := &acctest.Instance{Type: "kubetaint_node_taints"}
	d := s.tf.Apply(t, taints, map[string]any{
		"node_name": s.pool, "taints": acctest.Objects(t, "team=a:NoExecute"), "tolerated_by": []any{s.tf.Attributes(t, i)["id"]}, "timeouts": map[string]any{"create": "1m"},
	})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	if got := s.c.Taints(t, s.pool); got != "team=a:NoExecute" {
		t.Errorf("the node has the taints %q", got)
	}
	if left, err := pods.Get(t.Context(), pod, metav1.GetOptions{}); err != nil || left.DeletionTimestamp == nil || len(s.live("web")) > 0 {
		t.Fatalf("there are %d pods, so that nothing is shown: %v", len(s.live("web")), err)
	}
	if err := pods.Delete(t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
	s.wantPods("web", 2, "team=a:NoExecute", "Deployment")
	if d := s.tf.Apply(t, taints, nil); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
}
