// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// urgentPins is a Deployment whose pod is of a high priority, and a node to pin it to that has room for it beside no pod
// of a lower one.
type urgentPins struct {
	acctest.Preempting

	pool, own string
}

func newUrgentPins(t *testing.T, c *acctest.Cluster) urgentPins {
	t.Helper()
	p := urgentPins{pool: acctest.Name(t, "pool"), own: c.Namespace(t)}
	c.Node(t, acctest.Node{Name: p.pool})
	c.Deployment(t, p.own, "web", 1, func(spec *corev1.PodSpec) {
		spec.Priority = new(int32(1000))
		spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}
	})
	c.Running(t, p.own, "web", 1)
	p.Preempting = c.Preempting(t, p.pool, p.pool)
	return p
}

func (p urgentPins) config(t *testing.T, evictions map[string]any) map[string]any {
	t.Helper()
	return map[string]any{
		"node_selector": "pool=" + p.pool, "taints": acctest.Objects(t, "team=a:NoSchedule"), "labels": map[string]any{"dedicated": p.pool},
		"workloads": []any{map[string]any{"kind": "Deployment", "namespace": p.own, "name": "web", "pin": true}}, "evictions": evictions,
	}
}

// A pinned pod preempts another one before any taint is written, in a namespace that may be protected: limits count it at plan
// and right before the first write.
func TestDedicatedNodes_limitsCountWhatPinnedPodsPreempt(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "stay Pending, and max_pending allows")
	for attribute, of := range map[string]struct {
		value func(p urgentPins) any
		says  string
	}{
		"protected_namespaces": {func(p urgentPins) any { return []string{p.Other} }, "1 pod of protected namespaces would be evicted"},
		"max_pods":             {func(urgentPins) any { return 0 }, "1 pod would be evicted (1 elsewhere, by preemption), and max_pods allows 0"},
		"max_pending":          {func(urgentPins) any { return 0 }, "1 pod would stay Pending, and max_pending allows 0"},
		"only":                 {func(p urgentPins) any { return []string{p.own + "/*"} }, "1 pod of "},
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, c *acctest.Cluster) {
				p, tf, i := newUrgentPins(t, c), terraform(t, c), newInstance()
				config := p.config(t, map[string]any{attribute: of.value(p)})
				planned := tf.Plan(t, i, config)
				if planned.Diagnostics.Errors() != "" {
					t.Fatal(planned.Diagnostics.Errors())
				}
				walk := tf.Walk(t)
				walk.Between = p.Calm
				acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), attribute, of.says, "Nothing has been written")
				if labels := c.Get(t, p.pool+"-other").Labels; labels["dedicated"] != "" {
					t.Fatalf("the node has %v", labels)
				}
				acctest.WantAll(t, tf.Plan(t, i, config).Diagnostics.Errors(), of.says, "add node selector dedicated="+p.pool+` to Deployment "`+p.own+`/web"`, "PENDING 1  ReplicationController "+p.Other+"/calm")
			})
		})
	}
}

// Pinned pods that find no node at all count towards max_pending.
func TestDedicatedNodes_maxPendingCountsPinnedPods(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "stay Pending, and max_pending allows")
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p, tf := newUrgentPins(t, c), terraform(t, c)
		config := p.config(t, map[string]any{"max_pending": 0})
		c.Pod(t, p.own, "large", p.pool+"-other", func(pod *corev1.Pod) {
			pod.Spec.Priority = new(int32(1000))
			pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
		})
		acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), "1 pod would stay Pending, and max_pending allows 0", "PENDING 1  Deployment "+p.own+"/web")
	})
}

func TestDedicatedNodes_planTellsWhomPinnedPodsPreempt(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, c *acctest.Cluster) {
		p, tf := newUrgentPins(t, c), terraform(t, c)
		p.Calm()
		acctest.WantAll(t, tf.Plan(t, newInstance(), p.config(t, nil)).Diagnostics.Warnings(),
			"Adding node selector dedicated="+p.pool, "evicts no pods, but new pods preempt others: 1 pending, 1 preempted elsewhere", "PENDING 1  ReplicationController "+p.Other+"/calm", "preempted; no node")
	})
}
