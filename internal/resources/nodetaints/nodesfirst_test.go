// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// crowd is 1,000 nodes with 30,000 pods, which tolerate the key dedicated but for those of the last
// ten nodes. Nodes have labels that match one, ten, half or all of those whose pods tolerate it.
func crowd(t *testing.T, c *acctest.Cluster) {
	t.Helper()
	c.Crowd(t, 1_000, 30, func(n int, node *corev1.Node, pod *corev1.Pod) {
		node.Labels = map[string]string{"all": ""}
		for label, nodes := range map[string]int{"one": 1, "ten": 10, "half": 500} {
			if n < nodes {
				node.Labels[label] = ""
			}
		}
		if n < 990 {
			pod.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			return
		}
		node.Labels = map[string]string{"last": ""}
	})
}

// requested returns what a phase asked for, and how often in all.
func requested(t *testing.T, phase string, audit *acctest.Audit) (total int, count map[string]int) {
	t.Helper()
	count = acctest.Counted(t, phase, audit.Requests())
	for _, n := range count {
		total += n
	}
	return total, count
}

// TestNodeTaints_plansReadChangedNodesFirst counts requests of plans in a cluster of 1,000 nodes and
// 30,000 pods. Reading all pods takes 24.
func TestNodeTaints_plansReadChangedNodesFirst(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		crowd(t, c)
		audit, provider := c.Audit(t)
		for _, tc := range []struct {
			name, selector, taint string
			evicts                string
			pods, most            int
		}{
			{"one node, no pod evicted", "one", "dedicated=gpu:NoExecute", "", 2, 4},
			{"ten nodes, no pod evicted", "ten", "dedicated=gpu:NoExecute", "", 11, 13},
			{"half of the nodes, no pod evicted", "half", "dedicated=gpu:NoExecute", "", 16, 24},
			{"all nodes, no pod evicted", "all", "dedicated=gpu:NoExecute", "", 16, 24},
			{"one node, pods could not be scheduled again there", "one", "other=x:NoSchedule", "", 4, 7},
			{"one node, pods evicted", "one", "other=x:NoExecute", "evicts 30 pods", 18, 26},
			{"ten nodes, pods evicted", "last", "dedicated=gpu:NoExecute", "evicts 300 pods", 27, 35},
		} {
			audit.Reset()
			tf := &acctest.Terraform{Provider: provider}
			planned := tf.Plan(t, newInstance(), map[string]any{"node_selector": tc.selector, "taints": acctest.Objects(t, tc.taint)})
			warnings := planned.Diagnostics.Warnings()
			if planned.Diagnostics.Errors() != "" || (warnings == "") != (tc.evicts == "") || !strings.Contains(warnings, tc.evicts) {
				t.Errorf("%s: %s%s", tc.name, planned.Diagnostics.Errors(), warnings)
			}
			if total, count := requested(t, tc.name, audit); count["list pods"] != tc.pods || total > tc.most {
				t.Errorf("%s: %d requests: %v", tc.name, total, count)
			}
		}
	})
}

// TestNodeTaints_manyResourcesShareTheRule: of 200 resources with a node each, the first ones read its
// pods alone, and the others share a list of all pods.
func TestNodeTaints_manyResourcesShareTheRule(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		crowd(t, c)
		audit, provider := c.Audit(t)
		for _, taint := range []string{"dedicated=gpu:NoExecute", "other=x:NoExecute"} {
			audit.Reset()
			walk := (&acctest.Terraform{Provider: provider}).Walk(t)
			// As Terraform does by default, ten are planned in parallel.
			slots := make(chan struct{}, 10)
			var all sync.WaitGroup
			for n := range 200 {
				all.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					planned := walk.Plan(newInstance(), map[string]any{"node_name": fmt.Sprintf("crowd-%d", n), "taints": acctest.Objects(t, taint)})
					if d := planned.Diagnostics; d.Errors() != "" || (d.Warnings() != "") != (taint == "other=x:NoExecute") {
						t.Error(n, d.Errors(), d.Warnings())
					}
				})
			}
			all.Wait()
			if total, count := requested(t, taint, audit); total > 40 || count["list pods"] > 1+10+16 {
				t.Errorf("%s: %d requests: %v", taint, total, count)
			}
		}
	})
}

// TestNodeTaints_appliesReadAllPodsForLimits: an apply plans again, by the pods of the changed node. Where a
// limit is to be held it lists all pods before its first write, and follows them.
func TestNodeTaints_appliesReadAllPodsForLimits(t *testing.T) {
	t.Parallel()
	acctest.TooLong(t)
	acctest.CountsRequests(t)
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		crowd(t, c)
		audit, provider := c.Audit(t)
		for n, tc := range []struct {
			evictions any
			pods      int
		}{{nil, 2}, {map[string]any{"max_pods": 0}, 2 + 16}} {
			tf, i := &acctest.Terraform{Provider: provider}, newInstance()
			config := map[string]any{"node_name": fmt.Sprintf("crowd-%d", n), "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": tc.evictions}
			planned := tf.Plan(t, i, config)
			audit.Reset()
			if d := tf.Carry(t, i, planned, config); d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if total, count := requested(t, "apply", audit); count["list pods"] != tc.pods {
				t.Errorf("with the limits %v: %d requests: %v", tc.evictions, total, count)
			}
		}
	})
}
