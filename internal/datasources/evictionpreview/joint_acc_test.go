// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func newMove(t *testing.T) *move {
	t.Helper()
	return newMoveOn(t, acctest.Connect(t))
}

func newMoveOn(t *testing.T, c *acctest.Cluster) *move {
	t.Helper()
	m := &move{t: t, c: c, pool: acctest.Name(t, "pool")}
	m.namespace, m.from, m.to = m.c.Namespace(t), m.pool+"-from", m.pool+"-to"
	acctest.NeedKwok(t, "nodes of a chosen size")
	m.node(m.from, "32Gi", nil)
	return m
}

// running waits until so many pods of the namespace run.
func (m *move) running(pods int) {
	m.t.Helper()
	acctest.Until(m.t, fmt.Sprintf("%d pods run", pods), func(ctx context.Context) (bool, error) {
		return m.count(ctx, func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }) == pods, nil
	})
}

// Each of ten pods fits on the other node, and nine stay Pending: what one finds is no answer for ten.
func TestAccEvictionPreview_tenPodsAndRoomForOne(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	m.c.Deployment(t, m.namespace, "web", 10, func(s *corev1.PodSpec) {
		memory("1Gi")(s)
		s.NodeSelector = map[string]string{"pool": m.pool}
	})
	m.running(10)
	m.node(m.to, "1Gi", nil)
	tf := &acctest.Terraform{Provider: m.c.Provider(t)}
	preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	for attribute, of := range map[string]any{"workloads": preview["workloads"].([]any)[0], "summary": preview["summary"]} {
		for name, want := range map[string]int64{"evicted_now": 10, "pending": 9, "pending_max": 9, "preempted": 0} {
			if got := of.(map[string]any)[name]; got != want {
				t.Errorf("%s.%s is %v, want %d", attribute, name, got, want)
			}
		}
	}
	for _, p := range preview["pods"].([]any) {
		// Chance decides which one it will be.
		if word := p.(map[string]any)["placement"]; word != nil {
			t.Errorf("a pod has the placement %v", word)
		}
	}
	config := map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{"max_pending": 8}}
	taints := &acctest.Instance{Type: "kubetaint_node_taints"}
	acctest.WantAll(t, tf.Plan(t, taints, config).Diagnostics.Errors(), "9 pods would stay Pending, and max_pending allows 8")
	tf.Settle(t, taints, acctest.With(config, map[string]any{"evictions": map[string]any{"max_pending": 9}}))
	acctest.Until(t, "one pod runs on the other node, and nine are Pending", func(ctx context.Context) (bool, error) {
		placed := m.count(ctx, func(p *corev1.Pod) bool { return p.Spec.NodeName == m.to && p.Status.Phase == corev1.PodRunning })
		pending := m.count(ctx, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == "" && condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
		})
		return placed == 1 && pending == 9, nil
	})
}

// A replacement pushes a pod off a node that no change touches, in a namespace that is protected.
// Alone, because Pending pods of other tests preempt as well, and count.
//
//nolint:paralleltest // See above.
func TestAccEvictionPreview_preemptionOutOfAProtectedNamespace(t *testing.T) {
	m := newMoveOn(t, acctest.Alone(t))
	m.deployment("urgent", m.urgent("3Gi", corev1.PreemptLowerPriority))
	m.running(1)
	m.node(m.to, "4Gi", nil)
	prod := m.c.Namespace(t)
	m.c.Pod(t, prod, "resident", m.to, func(p *corev1.Pod) { memory("2Gi")(&p.Spec) })
	acctest.Until(t, "the resident runs", func(ctx context.Context) (bool, error) {
		p, err := m.c.Admin.CoreV1().Pods(prod).Get(ctx, "resident", metav1.GetOptions{})
		return err == nil && p.Status.Phase == corev1.PodRunning, err
	})
	tf, taints := &acctest.Terraform{Provider: m.c.Provider(t)}, &acctest.Instance{Type: "kubetaint_node_taints"}
	config := func(evictions map[string]any) map[string]any {
		return map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": evictions}
	}
	for attribute, value := range map[string]any{"protected_namespaces": []string{prod}, "max_lost": 0} {
		acctest.WantAll(t, tf.Plan(t, taints, config(map[string]any{attribute: value})).Diagnostics.Errors(), attribute, prod+"/resident", "Preemption by replacements evicts elsewhere")
	}
	d := tf.Settle(t, taints, config(map[string]any{"max_pods": 2}))
	acctest.WantAll(t, d.Warnings(), "evicts 1 pod: 1 lost, 1 preempted elsewhere", "LOST 1  Pod "+prod+"/resident", "no controller; preempted")
	acctest.Until(t, "the resident is gone, and the urgent pod has its place", func(ctx context.Context) (bool, error) {
		_, err := m.c.Admin.CoreV1().Pods(prod).Get(ctx, "resident", metav1.GetOptions{})
		if err == nil {
			return false, nil
		}
		return m.count(ctx, func(p *corev1.Pod) bool { return p.Spec.NodeName == m.to && p.Status.Phase == corev1.PodRunning }) == 1, ignoreGone(err)
	})
}

// Two pods must share a node, and each of two nodes has room for one of them in the place of another pod. The scheduler
// binds neither before it has tried both: both preempt, and one of them in vain.
func TestAccEvictionPreview_podsThatFollowEachOtherPreemptTwice(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	urgent := m.urgent("3Gi", corev1.PreemptLowerPriority)
	m.c.Deployment(t, m.namespace, "web", 2, func(s *corev1.PodSpec) {
		urgent(s)
		s.NodeSelector = map[string]string{"pool": m.pool}
		s.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
			{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		}}}
	})
	m.running(2)
	for _, name := range []string{m.to, m.pool + "-other"} {
		m.node(name, "4Gi", nil)
		m.c.Pod(t, m.namespace, "resident-"+name, name, func(p *corev1.Pod) { memory("2Gi")(&p.Spec) })
	}
	m.running(4)
	preview, d := (&acctest.Terraform{Provider: m.c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")})
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	for name, want := range map[string]int64{"pending": 1, "pending_max": 1, "preempted": 2} {
		if got := preview["summary"].(map[string]any)[name]; got != want {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	acctest.Until(t, "one of the two runs, the other is Pending, and one resident is left at most", func(ctx context.Context) (bool, error) {
		elsewhere := func(p *corev1.Pod) bool { return p.Spec.NodeName != "" && p.Spec.NodeName != m.from }
		running := m.count(ctx, func(p *corev1.Pod) bool { return p.Labels["app"] == "web" && elsewhere(p) })
		pending := m.count(ctx, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == "" && p.Status.NominatedNodeName == "" && condition(p, corev1.PodScheduled).Status == corev1.ConditionFalse
		})
		return running == 1 && pending == 1 && m.count(ctx, elsewhere) <= 2, nil
	})
}

func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
