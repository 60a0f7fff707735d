// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccEvictionPreview_aJobFailsByItsBackoffLimit: a Job without retries fails, and its pod on the other node is deleted
// too. One that ignores disruptions goes on.
func TestAccEvictionPreview_aJobFailsByItsBackoffLimit(t *testing.T) {
	t.Parallel()
	ignoring := &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
	for name, tt := range map[string]struct {
		policy     *batchv1.PodFailurePolicy
		says, rest string
		pods       int32
	}{
		"no retries":              {says: "evicts 1 pod: 2 lost (1 deleted by failed Jobs)", rest: "its Job fails: backoffLimit 0, which deletes 1 more"},
		"disruptions are ignored": {policy: ignoring, says: "evicts 1 pod**", rest: "fits elsewhere", pods: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := acctest.Connect(t)
			namespace, pool := c.Namespace(t), acctest.Name(t, "pool")
			from, to := pool+"-0", pool+"-1"
			for _, name := range []string{from, to} {
				c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": pool, "part": name}})
			}
			spread := corev1.TopologySpreadConstraint{
				MaxSkew: 1, TopologyKey: "part", WhenUnsatisfiable: corev1.DoNotSchedule, NodeTaintsPolicy: new(corev1.NodeInclusionPolicyHonor),
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "batch"}},
			}
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: batchv1.JobSpec{
				Parallelism: new(int32(2)), Completions: new(int32(2)), BackoffLimit: new(int32(0)), PodFailurePolicy: tt.policy,
				Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "batch"}}, Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever, NodeSelector: map[string]string{"pool": pool}, TerminationGracePeriodSeconds: new(int64(1)),
					TopologySpreadConstraints: []corev1.TopologySpreadConstraint{spread}, Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}},
				}},
			}}
			if _, err := c.Admin.BatchV1().Jobs(namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			c.Running(t, namespace, "batch", 2)
			preview, d := (&acctest.Terraform{Provider: c.Provider(t)}).Data(t, "kubetaint_eviction_preview", map[string]any{"node_name": from, "taints": acctest.Objects(t, "team=a:NoExecute")})
			if d.Errors() != "" {
				t.Fatal(d.Errors())
			}
			if markdown, _ := preview["markdown"].(string); !strings.Contains(markdown, tt.says) || !strings.Contains(markdown, tt.rest) || strings.Contains(markdown, "backoffLimit of Jobs") {
				t.Errorf("the preview is %s", markdown)
			}
			c.Patch(t, from, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
			acctest.Until(t, "the Job has ended, or has its pods on the other node", func(ctx context.Context) (bool, error) {
				if err := endStopped(ctx, c, namespace); err != nil {
					return false, err
				}
				pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
				if err != nil {
					return false, err
				}
				running := int32(0)
				for _, p := range pods.Items {
					if p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil && p.Spec.NodeName == to {
						running++
					}
				}
				now, err := c.Admin.BatchV1().Jobs(namespace).Get(ctx, "batch", metav1.GetOptions{})
				if err != nil {
					return false, err
				}
				failed := false
				for _, condition := range now.Status.Conditions {
					failed = failed || condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue && condition.Reason == batchv1.JobReasonBackoffLimitExceeded
				}
				return running == tt.pods && failed == (tt.pods == 0), nil
			})
		})
	}
}

// TestAccEvictionPreview_aJobFailsByPreemption: a replacement takes the place of one pod of a Job without retries, and the Job
// deletes the other one, which runs on a node of its own.
func TestAccEvictionPreview_aJobFailsByPreemption(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	m.deployment("urgent", m.urgent("3Gi", corev1.PreemptLowerPriority))
	m.running(1)
	for _, name := range []string{m.to, m.pool + "-other"} {
		m.node(name, "4Gi", nil)
	}
	spec := corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}},
		Affinity: &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{m.to, m.pool + "-other"}}}},
		}}}},
	}
	memory("3Gi")(&spec)
	_, err := m.c.Admin.BatchV1().Jobs(m.namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: batchv1.JobSpec{
		Parallelism: new(int32(2)), Completions: new(int32(2)), BackoffLimit: new(int32(0)), Template: corev1.PodTemplateSpec{Spec: spec},
	}}, metav1.CreateOptions{})
	m.must(err)
	m.running(3)
	config := map[string]any{"node_name": m.from, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
	preview, d := (&acctest.Terraform{Provider: m.c.Provider(t)}).Data(t, "kubetaint_eviction_preview", config)
	if d.Errors() != "" {
		t.Fatal(d.Errors())
	}
	for name, want := range map[string]int64{"lost": 2, "lost_max": 2, "preempted": 1, "pending_max": 0} {
		if got := preview["summary"].(map[string]any)[name]; got != want {
			t.Errorf("%s is %v, want %d", name, got, want)
		}
	}
	acctest.WantAll(t, fmt.Sprint(preview["markdown"]), "evicts 1 pod: 2 lost (1 deleted by failed Jobs), 1 preempted elsewhere", "| LOST | 2 | Job "+m.namespace+"/batch | - | its Job fails by preemption |")
	config["evictions"] = map[string]any{"max_pods": 2, "max_lost": 1}
	taints := &acctest.Instance{Type: "kubetaint_node_taints"}
	acctest.WantAll(t, (&acctest.Terraform{Provider: m.c.Provider(t)}).Plan(t, taints, config).Diagnostics.Errors(), "3 pods would be evicted (2 elsewhere, by preemption), and max_pods allows 2", "2 pods would be lost, and max_lost allows 1")
	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"dedicated","value":"gpu","effect":"NoExecute"}]}}`)
	acctest.Until(t, "the urgent pod runs elsewhere, and no pod of the Job is left", func(ctx context.Context) (bool, error) {
		if err := endStopped(ctx, m.c, m.namespace); err != nil {
			return false, err
		}
		urgent := m.count(ctx, func(p *corev1.Pod) bool {
			return p.Labels["app"] == "urgent" && p.Spec.NodeName != m.from && p.Status.Phase == corev1.PodRunning
		})
		return urgent == 1 && m.count(ctx, func(p *corev1.Pod) bool { return p.Labels["app"] != "urgent" && p.Status.Phase == corev1.PodRunning }) == 0, nil
	})
}

// endStopped does what a kubelet does with the pods that are deleted once their containers have stopped.
func endStopped(ctx context.Context, c *acctest.Cluster, namespace string) error {
	pods, err := c.Admin.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, p := range pods.Items {
		if p.DeletionTimestamp != nil && p.Status.Phase == corev1.PodRunning {
			p.Status.Phase = corev1.PodFailed
			if _, err := c.Admin.CoreV1().Pods(namespace).UpdateStatus(ctx, &p, metav1.UpdateOptions{}); err != nil {
				return nil //nolint:nilerr // It has changed, or is gone: the next look tries again.
			}
		}
	}
	return nil
}
