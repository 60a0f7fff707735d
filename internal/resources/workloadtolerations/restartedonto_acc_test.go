// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccOrder_restartedPodsMayBePlacedOnNodesThatTheSameRunTaints: pods run on one of two nodes, which is cordoned then. A run
// restarts them and taints the other node, where all new pods are placed before. Whichever of the two resources is planned
// last names them, and the real controllers evict them.
func TestAccOrder_restartedPodsMayBePlacedOnNodesThatTheSameRunTaints(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	apps, pool := c.Namespace(t), acctest.Name(t, "pool")
	for _, name := range []string{"a", "b"} {
		c.Node(t, acctest.Node{Name: pool + "-" + name, Labels: map[string]string{"pool": pool}})
		if name == "a" {
			c.Deployment(t, apps, "web", 2, func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"pool": pool} })
		}
	}
	c.Cordon(t, apps, pool+"-a")

	tolerations := map[string]any{"workload": map[string]any{"kind": "Deployment", "namespace": apps, "name": "web"}, "tolerations": []any{map[string]any{"key": "other", "value": "x"}}}
	taints := map[string]any{"node_name": pool + "-b", "taints": acctest.Objects(t, "team=a:NoExecute")}
	tf := &acctest.Terraform{Provider: c.Provider(t)}
	tolerating, tainting := &acctest.Instance{Type: "kubetaint_workload_tolerations"}, &acctest.Instance{Type: "kubetaint_node_taints"}

	walk := tf.Walk(t)
	first := walk.Plan(tainting, taints).Diagnostics
	if w := first.Warnings(); w != "" {
		t.Errorf("nothing else is planned yet, and the plan of the taints says %s", w)
	}
	last := walk.Plan(tolerating, tolerations).Diagnostics
	acctest.WantAll(t, last.Warnings(), "restarts pods: other resources of this plan may evict 2 new pods", "Deployment "+apps+"/web: up to 2 pods")

	walk = tf.Walk(t)
	planned := walk.Plan(tolerating, tolerations)
	id := tf.Attributes(t, &acctest.Instance{Type: tolerating.Type, State: planned.State})["id"]
	taints["tolerated_by"] = []any{id}
	second := walk.Plan(tainting, taints)
	acctest.WantAll(t, second.Diagnostics.Warnings(), "evicts no pods, but may evict 2 pods that restart in the same run", "Deployment "+apps+"/web: up to 2 pods")

	evicted := c.Evictions(t, apps)
	walk = tf.Walk(t)
	if d := walk.ApplyChange(tolerating, planned, tolerations); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	if d := walk.ApplyChange(tainting, second, taints); d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	acctest.Until(t, "no pod is on a node any more", func(ctx context.Context) (bool, error) {
		pods, err := c.Admin.CoreV1().Pods(apps).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, p := range pods.Items {
			if p.Spec.NodeName != "" {
				return false, nil
			}
		}
		return true, nil
	})
	if got := evicted(); len(got) != 2 {
		t.Errorf("the taint evicts %q, want the 2 new pods", got)
	}
}
