// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
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

// moved evicts the pod of the first node, whose replacement is placed on the second one.
func moved(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	pods := c.Admin.CoreV1().Pods(metav1.NamespaceDefault)
	evicted, err := pods.Get(t.Context(), "crowd-0-0", metav1.GetOptions{})
	if err == nil {
		err = pods.Delete(t.Context(), evicted.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	}
	if err != nil {
		t.Fatal(err)
	}
	next := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "next", OwnerReferences: evicted.OwnerReferences}, Spec: evicted.Spec}
	next.Spec.NodeName = "crowd-1"
	if _, err := pods.Create(t.Context(), next, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
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

// TestNodeTaints_oneCountsTheOtherWhenPlannedInParallel, as Terraform does it.
func TestNodeTaints_oneCountsTheOtherWhenPlannedInParallel(t *testing.T) {
	t.Parallel()
	for range 5 {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			pairs(t, c)
			walk, warnings := terraform(t, c).Walk(t), make([]string, 2)
			var both sync.WaitGroup
			for n := range warnings {
				both.Go(func() {
					warnings[n] = walk.Plan(newInstance(), tainted(t, fmt.Sprintf("crowd-%d", n), nil)).Diagnostics.Warnings()
				})
			}
			both.Wait()
			if all := strings.Join(warnings, "\n"); strings.Count(all, "2 pending in all") != 1 || strings.Count(all, ": 1 pending") != 1 {
				t.Errorf("they say %s", all)
			}
		})
	}
}

// TestNodeTaints_countDedicatedNodesPlannedBefore, and these count taints of nodes that were planned before.
func TestNodeTaints_countDedicatedNodesPlannedBefore(t *testing.T) {
	t.Parallel()
	for _, dedicatedFirst := range []bool{true, false} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			pairs(t, c)
			walk := terraform(t, c).Walk(t)
			plans := []func() acctest.Diagnostics{
				func() acctest.Diagnostics {
					return walk.Plan(&acctest.Instance{Type: "kubetaint_dedicated_nodes"}, map[string]any{"node_names": []string{"crowd-1"}, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}).Diagnostics
				},
				func() acctest.Diagnostics { return walk.Plan(newInstance(), tainted(t, "crowd-0", nil)).Diagnostics },
			}
			if !dedicatedFirst {
				slices.Reverse(plans)
			}
			if first := plans[0](); first.Errors() != "" || strings.Contains(first.Warnings(), "pending") {
				t.Errorf("the one that is planned first says %s%s", first.Errors(), first.Warnings())
			}
			acctest.WantAll(t, plans[1]().Warnings(), "evicts 1 pod: 1 pending", "2 pending in all.")
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

// TestNodeTaints_applyChecksWhatThePlanChecked: of two resources whose limits allow both, planned and applied in any
// order. What one has written counts as the cluster shows it, and what is not written yet as it is planned.
func TestNodeTaints_applyChecksWhatThePlanChecked(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// first and second are what they allow to be Pending, -1 for no limit.
		first, second int
		// between reports that the second one is planned again before the first one writes.
		between bool
		says    string
	}{
		"one after the other":                 {first: 2, second: 2},
		"the second one is planned meanwhile": {first: 2, second: 2, between: true},
		"the second one allows none":          {first: -1, second: 0, says: "stay Pending, and max_pending allows 0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				pairs(t, c)
				tf, a, b := terraform(t, c), newInstance(), newInstance()
				limits := func(n int) map[string]any {
					if n < 0 {
						return nil
					}
					return map[string]any{"max_pending": n}
				}
				first, second := tainted(t, "crowd-0", limits(tt.first)), tainted(t, "crowd-1", limits(tt.second))
				plans := tf.Walk(t)
				plannedA, plannedB := plans.Plan(a, first), plans.Plan(b, second)
				if errs := plannedA.Diagnostics.Errors(); errs != "" {
					t.Fatalf("the first one is not planned: %s", errs)
				}
				acctest.WantAll(t, plannedB.Diagnostics.Errors(), tt.says)
				if tt.says != "" {
					return
				}
				applies := tf.Walk(t)
				if tt.between {
					applies.Between = func() {
						applies.Between = nil
						applies.Plan(newInstance(), second)
					}
				}
				if errs := applies.ApplyChange(a, plannedA, first).Errors(); errs != "" {
					t.Errorf("the first one is not applied: %s", errs)
				}
				if tt.between {
					return
				}
				moved(t, c)
				if errs := applies.ApplyChange(b, plannedB, second).Errors(); errs != "" {
					t.Errorf("the second one is not applied: %s", errs)
				}
			})
		})
	}
}

// TestNodeTaints_applyCountsWhatIsNotWrittenYet of a resource that was planned before in the same apply.
func TestNodeTaints_applyCountsWhatIsNotWrittenYet(t *testing.T) {
	t.Parallel()
	for _, before := range []bool{false, true} {
		acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
			pairs(t, c)
			tf, i := terraform(t, c), newInstance()
			first, second := tainted(t, "crowd-0", nil), tainted(t, "crowd-1", map[string]any{"max_pending": 0})
			planned := tf.Plan(t, i, second)
			walk := tf.Walk(t)
			if before {
				walk.Plan(newInstance(), first)
			}
			errs := walk.ApplyChange(i, planned, second).Errors()
			if strings.Contains(errs, "max_pending allows 0") != before {
				t.Errorf("the other one was planned before: %t, and it ends with %q", before, errs)
			}
		})
	}
}

// TestNodeTaints_oneIsRefusedInAnyOrderOfPlanning where max_pending of one of two does not allow what both leave Pending.
func TestNodeTaints_oneIsRefusedInAnyOrderOfPlanning(t *testing.T) {
	t.Parallel()
	const beside, own = "2 pods would stay Pending, and max_pending allows 0 (set by another resource)", "2 pods would stay Pending, and max_pending allows 0 (1 evicted by other resources)"
	for name, tt := range map[string]struct {
		// limits are those of the resources of crowd-0 and crowd-1, -1 for none.
		limits [2]int
		// says is what the second one is refused with, by the node of the first one.
		says [2]string
	}{
		"both have the same":      {limits: [2]int{0, 0}, says: [2]string{own, own}},
		"one of them has a limit": {limits: [2]int{0, -1}, says: [2]string{beside, own}},
		"one of them has more":    {limits: [2]int{0, 2}, says: [2]string{beside, own}},
		"both allow all":          {limits: [2]int{2, 2}},
	} {
		for first := range 2 {
			t.Run(fmt.Sprintf("%s, crowd-%d is first", name, first), func(t *testing.T) {
				t.Parallel()
				acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
					pairs(t, c)
					config := func(n int) map[string]any {
						if tt.limits[n] < 0 {
							return tainted(t, fmt.Sprintf("crowd-%d", n), nil)
						}
						return tainted(t, fmt.Sprintf("crowd-%d", n), map[string]any{"max_pending": tt.limits[n]})
					}
					walk := terraform(t, c).Walk(t)
					if errs := walk.Plan(newInstance(), config(first)).Diagnostics.Errors(); errs != "" {
						t.Fatal(errs)
					}
					errs := walk.Plan(newInstance(), config(1-first)).Diagnostics.Errors()
					if acctest.WantAll(t, errs, tt.says[first]); tt.says[first] == "" && errs != "" {
						t.Error(errs)
					}
				})
			})
		}
	}
}
