// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_evictsTheJobOfAnUnlinkedCronJob: its running pod keeps what it has, though the same run
// plans tolerations for the CronJob.
func TestNodeTaints_evictsTheJobOfAnUnlinkedCronJob(t *testing.T) {
	t.Parallel()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
		node, namespace := acctest.Name(t, "node"), c.Namespace(t)
		c.Node(t, acctest.Node{Name: node, Labels: map[string]string{"only": node}})
		spec := batchv1.JobSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "nightly"}}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"only": node}, RestartPolicy: corev1.RestartPolicyNever,
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2"}},
		}}}
		batch := c.Admin.BatchV1()
		cronJob, err := batch.CronJobs(namespace).Create(t.Context(), &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Name: "nightly"}, Spec: batchv1.CronJobSpec{
			Schedule: "0 3 * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: spec},
		}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owner := metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: cronJob.Name, UID: cronJob.UID, Controller: new(true)}
		if _, err := batch.Jobs(namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "nightly-1", OwnerReferences: []metav1.OwnerReference{owner}}, Spec: spec}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		c.Running(t, namespace, "nightly", 1)
		run := terraform(t, c).Walk(t)
		tolerations := acctest.With(tolerationsOf(namespace, "gpu"), map[string]any{"workload": map[string]any{"kind": "CronJob", "namespace": namespace, "name": "nightly"}})
		if planned := run.Plan(&acctest.Instance{Type: "kubetaint_workload_tolerations"}, tolerations); planned.Empty || planned.Diagnostics.Errors() != "" {
			t.Fatalf("no tolerations are planned for the CronJob: %s", planned.Diagnostics.Errors())
		}
		taints := map[string]any{"node_name": node, "taints": acctest.Objects(t, "dedicated=gpu:NoExecute")}
		got := run.Plan(newInstance(), taints).Diagnostics
		acctest.WantAll(t, got.Warnings(), "evicts 1 pod", "CronJob "+namespace+"/nightly  0s")
		if said := got.Warnings() + got.Errors(); strings.Contains(said, "unknown") {
			t.Errorf("the pod of a Job that runs may follow: %s", said)
		}
	})
}
