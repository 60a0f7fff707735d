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
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// crowded is a node of four cores with a pod that preempts another one.
type crowded struct {
	acctest.Preempting
	node string
}

func newCrowded(t *testing.T, c *acctest.Cluster) crowded {
	t.Helper()
	pool := acctest.Name(t, "pool")
	c.Node(t, acctest.Node{Name: pool, Labels: map[string]string{"pool": pool}, Allocatable: corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
	}})
	return crowded{c.Preempting(t, pool, pool), pool}
}

func (s crowded) config(t *testing.T, evictions map[string]any) map[string]any {
	t.Helper()
	return map[string]any{"node_name": s.node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": evictions}
}

// The limits look at what a change does on nodes that it does not touch, at plan and again with the pods
// that are there right before the first write.
func TestNodeTaints_limitsCountWhatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "stay Pending, and max_pending allows")
	for attribute, of := range map[string]struct {
		value func(s crowded) any
		says  string
	}{
		"max_pods":             {func(crowded) any { return 1 }, "2 pods would be evicted (1 elsewhere, by preemption), and max_pods allows 1"},
		"max_pending":          {func(crowded) any { return 0 }, "1 pod would stay Pending, and max_pending allows 0"},
		"protected_namespaces": {func(s crowded) any { return []string{s.Other} }, "1 pod of protected namespaces would be evicted"},
		"only":                 {func(s crowded) any { return []string{s.Own + "/*"} }, "would be evicted (1 elsewhere, by preemption), and evictions.only does not list it"},
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				s := newCrowded(t, c)
				tf, config, i := terraform(t, c), s.config(t, map[string]any{attribute: of.value(s)}), newInstance()
				planned := tf.Plan(t, i, config)
				if planned.Diagnostics.Errors() != "" {
					t.Fatalf("no entry is in the way yet: %s", planned.Diagnostics.Errors())
				}
				walk := tf.Walk(t)
				walk.Between = s.Calm
				acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), attribute, of.says, "This apply has written no taint")
				wantTaints(t, c, s.node, "")
				acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), attribute, of.says, "PENDING 1  ReplicationController "+s.Other+"/calm")
			})
		})
	}
}

// Plans refuse what exceeds any limit.
func TestNodeTaints_limitsCountPreemptedPodsOfEachKind(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s, tf := newCrowded(t, c), terraform(t, c)
		s.Calm()
		s.Exceeded(t, func(evictions map[string]any) string {
			return tf.Plan(t, newInstance(), s.config(t, evictions)).Diagnostics.Errors()
		})
	})
}

func TestNodeTaints_maxLostCountsPodsWithoutAController(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "be lost, and max_lost allows")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := newCrowded(t, c)
		tf := terraform(t, c)
		if d := tf.Plan(t, newInstance(), s.config(t, map[string]any{"max_lost": 0})).Diagnostics; d.Errors() != "" {
			t.Fatalf("no pod is lost: %s", d.Errors())
		}
		c.Pod(t, s.Own, "bare", s.node, nil)
		acctest.WantAll(t, tf.Plan(t, newInstance(), s.config(t, map[string]any{"max_lost": 0})).Diagnostics.Errors(), "max_lost", "1 pod would be lost, and max_lost allows 0", s.Own+"/bare")
	})
}

// On the node are a bare pod and those of three runs of a CronJob, all of them completed.
func TestNodeTaints_completedPodsExceedNoLimit(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, namespace := acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name})
		for _, job := range []string{"", "nightly-1", "nightly-2", "nightly-3"} {
			p := c.Pod(t, namespace, "done"+job, name, func(p *corev1.Pod) {
				if job != "" {
					p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: types.UID(job), Controller: new(true)}}
				}
			})
			p.Status.Phase = corev1.PodSucceeded
			if _, err := c.Admin.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		tf, i, config := terraform(t, c), newInstance(), map[string]any{
			"node_name": name, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
			"evictions": map[string]any{"max_pods": 0, "max_lost": 0, "max_pending": 0, "protected_namespaces": []string{namespace}},
		}
		if d := tf.Plan(t, i, config).Diagnostics; d.Errors() != "" || !strings.Contains(d.Warnings(), "deletes 4 completed pods") {
			t.Errorf("plan: errors %q, warnings %q", d.Errors(), d.Warnings())
		}
		if d := tf.Apply(t, i, config); d.Errors() != "" {
			t.Errorf("apply: errors %q", d.Errors())
		}
	})
}

// The apply of a replacement destroys first: it would find no taint that the pod tolerates, and
// evict the pod.
func TestNodeTaints_aReplacementThatStrandsPodsIsRefusedAtPlan(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "the replaced taint, but not the new one")
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, namespace := acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
		tf, i := terraform(t, c), newInstance()
		if d := tf.Apply(t, i, map[string]any{"node_name": name, "taints": acctest.Objects(t, "team=a:NoExecute")}); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		c.Pod(t, namespace, "p", name, func(p *corev1.Pod) { p.Spec.Tolerations = acctest.ParseTolerations(t, "team=a") })
		other := map[string]any{"node_selector": "pool=" + name, "taints": acctest.Objects(t, "team=b:NoExecute")}
		if d := tf.Plan(t, i, other).Diagnostics; !strings.Contains(d.Errors(), "1 pod tolerates the replaced taint, but not the new one") {
			t.Errorf("errors %q, warnings %q", d.Errors(), d.Warnings())
		}
		other["evictions"] = map[string]any{"stranded": "evict"}
		if d := tf.Plan(t, i, other).Diagnostics; d.Errors() != "" || !strings.Contains(d.Warnings(), "evicts 1 pod") {
			t.Errorf("with stranded = \"evict\": errors %q, warnings %q", d.Errors(), d.Warnings())
		}
	})
}
