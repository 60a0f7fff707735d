// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
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
		"no retries":              {says: "evicts 1 pod: 1 lost", rest: "its Job fails: backoffLimit 0, which deletes 1 more"},
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
