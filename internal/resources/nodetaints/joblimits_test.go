// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// The limits look at the pods that a failed Job deletes on nodes that do not change, at plan and again right before the
// first write.
func TestNodeTaints_limitsCountWhatFailedJobsDelete(t *testing.T) {
	t.Parallel()
	for attribute, of := range map[string]struct {
		value any
		says  string
	}{
		"max_pods":           {2, "3 pods would be evicted (2 deleted by failed Jobs), and max_pods allows 2"},
		"max_lost":           {2, "3 pods would be lost, and max_lost allows 2"},
		"protected_selector": {"tier=gold", `2 pods that protected_selector "tier=gold" matches would be evicted`},
	} {
		t.Run(attribute, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				namespace, pool := c.Namespace(t), acctest.Name(t, "pool")
				for _, name := range []string{pool + "-a", pool + "-b"} {
					c.Node(t, acctest.Node{Name: name})
				}
				job, err := c.Admin.BatchV1().Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "batch"}, Spec: batchv1.JobSpec{
					BackoffLimit: new(int32(0)), Parallelism: new(int32(3)), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example.com/app"}}}},
				}}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				pod := func(name, node string, labels map[string]string) {
					c.Pod(t, namespace, name, node, func(p *corev1.Pod) {
						p.OwnerReferences, p.Labels = []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))}, labels
					})
				}
				pod("first", pool+"-a", nil)
				tf, i := terraform(t, c), newInstance()
				config := map[string]any{"node_name": pool + "-a", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"), "evictions": map[string]any{attribute: of.value}}
				planned := tf.Plan(t, i, config)
				if planned.Diagnostics.Errors() != "" {
					t.Fatalf("no pod of the Job runs elsewhere yet: %s", planned.Diagnostics.Errors())
				}
				walk := tf.Walk(t)
				walk.Between = func() {
					pod("second", pool+"-b", map[string]string{"tier": "gold"})
					pod("third", pool+"-b", map[string]string{"tier": "gold"})
				}
				acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), attribute, of.says, "This apply has written no taint")
				wantTaints(t, c, pool+"-a", "")
				acctest.WantAll(t, tf.Plan(t, newInstance(), config).Diagnostics.Errors(), attribute, of.says)
			})
		})
	}
}
