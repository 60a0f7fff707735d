// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDedicatedNodes_anOrderedStatefulSetReplacesPodsInBatches has a pool with room for one more pod than it runs, and a
// StatefulSet with two pods there and two elsewhere, of which two may be unavailable. The first of its last two pods finds
// room, the second does not, and its controller deletes no other pod until it runs.
func TestAccDedicatedNodes_anOrderedStatefulSetReplacesPodsInBatches(t *testing.T) {
	t.Parallel()
	c := acctest.Connect(t)
	p := &pool{t: t, c: c, name: acctest.Name(t, "pool"), namespace: c.Namespace(t)}
	node := func(name, cores string, labels map[string]string) string {
		labels["field"] = p.name
		c.Node(t, acctest.Node{Name: p.name + "-" + name, Labels: labels, Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cores), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}})
		return p.name + "-" + name
	}
	p.nodes = []string{node("0", "3", map[string]string{"pool": p.name})}
	sets, pods := c.Admin.AppsV1().StatefulSets(p.namespace), c.Admin.CoreV1().Pods(p.namespace)
	c.StatefulSet(t, p.namespace, "statefulset", 2, func(s *corev1.PodSpec) {
		s.NodeSelector = map[string]string{"field": p.name}
		s.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	})
	// It has more free than the pool, so that the scheduler prefers it.
	p.other = node("1", "8", map[string]string{})
	patch := `{"spec":{"replicas":4,"updateStrategy":{"rollingUpdate":{"maxUnavailable":2}}}}`
	set, err := sets.Patch(t.Context(), "statefulset", types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable == nil {
		t.Skip("this version of Kubernetes has no maxUnavailable for StatefulSets")
	}
	c.Running(t, p.namespace, "statefulset", 4)

	tf, i := terraform(t, c), newInstance()
	config := acctest.With(p.config(wish{taints: "team=a:NoExecute", labels: "dedicated=gpu", workloads: map[string]string{"StatefulSet": pinned}}),
		map[string]any{"timeouts": map[string]any{"create": "15s"}})
	acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Warnings(), "3 of 4 pinned pods have no room on nodes matching")
	acctest.WantAll(t, tf.Apply(t, i, config).Errors(), "the rollout did not finish")
	want := map[string]string{"statefulset-0": "old on " + p.nodes[0], "statefulset-1": "old on " + p.nodes[0], "statefulset-2": "new on " + p.nodes[0], "statefulset-3": "new on "}
	var got map[string]string
	acctest.Until(t, "the rollout stops", func(ctx context.Context) (bool, error) {
		all, err := pods.List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		got = map[string]string{}
		for _, pod := range all.Items {
			revision := "old"
			if pod.Spec.NodeSelector["dedicated"] != "" {
				revision = "new"
			}
			got[pod.Name] = revision + " on " + pod.Spec.NodeName
		}
		return len(got) == len(want), nil
	})
	for name, is := range want {
		if got[name] != is {
			t.Errorf("%s is %s, and not %s", name, got[name], is)
		}
	}
}
