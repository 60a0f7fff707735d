// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// pairs is two nodes of four cores: on each runs a pod of two cores, and each has room for the other one.
func pairs(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	c.Crowd(t, 2, 1, func(_ int, node *corev1.Node, pod *corev1.Pod) {
		node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: node.Name, UID: types.UID(node.Name), Controller: new(true)}}
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	})
}

func tainted(t *testing.T, node string, evictions map[string]any) map[string]any {
	t.Helper()
	config := map[string]any{"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
	if evictions != nil {
		config["evictions"] = evictions
	}
	return config
}

// TestNodeTaints_countWhatResourcesPlannedBeforeDo, whichever of two is planned first: replacements find no room on a
// node that the other one taints.
func TestNodeTaints_countWhatResourcesPlannedBeforeDo(t *testing.T) {
	t.Parallel()
	for _, nodes := range [][]string{{"crowd-0", "crowd-1"}, {"crowd-1", "crowd-0"}} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			pairs(t, c)
			walk := terraform(t, c).Walk(t)
			first := walk.Plan(newInstance(), tainted(t, nodes[0], nil)).Diagnostics
			acctest.WantAll(t, first.Warnings(), "evicts 1 pod")
			if strings.Contains(first.Warnings(), "pending") {
				t.Errorf("the one that is planned first says %s", first.Warnings())
			}
			second := walk.Plan(newInstance(), tainted(t, nodes[1], nil)).Diagnostics
			acctest.WantAll(t, second.Warnings(), "evicts 1 pod: 1 pending", "Other resources of this plan evict 1 pod as well: 2 pending in all.")
			// Planned again, as Terraform does it for a replacement, neither counts itself.
			again := walk.Plan(newInstance(), tainted(t, nodes[0], nil)).Diagnostics
			if strings.Contains(again.Warnings(), "pending") {
				t.Errorf("the first one says then %s", again.Warnings())
			}
		})
	}
}

// TestNodeTaints_limitsCountWhatResourcesPlannedBeforeDo: max_pending refuses the second one, and both are allowed where
// it allows what comes of both.
func TestNodeTaints_limitsCountWhatResourcesPlannedBeforeDo(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pairs(t, c)
		none := map[string]any{"max_pending": 0}
		walk := terraform(t, c).Walk(t)
		if errs := walk.Plan(newInstance(), tainted(t, "crowd-0", none)).Diagnostics.Errors(); errs != "" {
			t.Fatal(errs)
		}
		acctest.WantAll(t, walk.Plan(newInstance(), tainted(t, "crowd-1", none)).Diagnostics.Errors(), "2 pods would stay Pending, and max_pending allows 0 (1 evicted by other resources)")
	})
}

// TestNodeTaints_tellOfRoomThatTheyTake from replacements of pods which a resource evicts that was planned before. No
// list of pods is read for it.
func TestNodeTaints_tellOfRoomThatTheyTake(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		pairs(t, c)
		if err := c.Admin.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), "crowd-1-0", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
			t.Fatal(err)
		}
		audit, provider := c.Audit(t)
		walk := (&acctest.Terraform{Provider: provider}).Walk(t)
		acctest.WantAll(t, walk.Plan(newInstance(), tainted(t, "crowd-0", nil)).Diagnostics.Warnings(), "evicts 1 pod")
		audit.Reset()
		planned := walk.Plan(newInstance(), tainted(t, "crowd-1", nil))
		acctest.WantAll(t, planned.Diagnostics.Warnings(), "evicts no pods, but takes room: 1 replacement of a pod that another resource evicts is pending")
		if count := acctest.Counted(t, "second", audit.Requests()); count["list pods"] > 0 {
			t.Errorf("it makes %v", count)
		}
	})
}
