// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package nodetaints_test

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestNodeTaints_readTheJobsOfPreemptedPods: the pod that is evicted from the first node preempts one of a Job on the second
// one. The Job is read once, and not where it is as important.
func TestNodeTaints_readTheJobsOfPreemptedPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		priority int32
		reads    int
		says     string
	}{
		"a Job that is preempted":    {priority: 0, reads: 1, says: "1 pod would be lost, and max_lost allows 0"},
		"one of the same importance": {priority: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				meta := metav1.ObjectMeta{Name: "batch", Namespace: metav1.NamespaceDefault}
				job, err := c.Admin.BatchV1().Jobs(meta.Namespace).Create(t.Context(), &batchv1.Job{ObjectMeta: meta, Spec: batchv1.JobSpec{BackoffLimit: new(int32(0))}}, metav1.CreateOptions{})
				if err != nil {
					t.Fatal(err)
				}
				c.Crowd(t, 2, 1, func(i int, node *corev1.Node, pod *corev1.Pod) {
					node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10")}
					pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
					owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: types.UID("web"), Controller: new(true)}
					pod.Spec.Priority = new(int32(10))
					if i > 0 {
						owner = metav1.OwnerReference{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID, Controller: new(true)}
						pod.Spec.Priority = &tt.priority
					}
					pod.OwnerReferences = []metav1.OwnerReference{owner}
				})
				audit, provider := c.Audit(t)
				tf := &acctest.Terraform{Provider: provider}
				errs := tf.Plan(t, newInstance(), tainted(t, "crowd-0", map[string]any{"max_lost": 0})).Diagnostics.Errors()
				if acctest.WantAll(t, errs, tt.says); tt.says == "" && errs != "" {
					t.Error(errs)
				}
				if count := acctest.Counted(t, "plan", audit.Requests()); count["get jobs"] != tt.reads {
					t.Errorf("it makes %v", count)
				}
			})
		})
	}
}
