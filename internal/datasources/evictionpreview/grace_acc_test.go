// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"context"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
)

// takesGracePeriod is the label of pods that kwok deletes when their grace period ends: all others are gone immediately.
const takesGracePeriod = "testbed.kubetaint.io/grace-period"

// TestAccEvictionPreview_statefulSetsReplaceTheirPodsLater: as many places as the Deployment has pods are left. Where the pod of
// the StatefulSet takes its grace period to end, the Deployment has them all. The prediction has both, also for a pod that
// ends sooner.
func TestAccEvictionPreview_statefulSetsReplaceTheirPodsLater(t *testing.T) {
	t.Parallel()
	m := newMove(t)
	pods := corev1.PodSpec{
		NodeSelector: map[string]string{"pool": m.pool}, TerminationGracePeriodSeconds: new(int64(6)),
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}}}},
	}
	labels, replicas := map[string]string{"app": "db"}, int32(1)
	_, err := m.c.Admin.AppsV1().StatefulSets(m.namespace).Create(t.Context(), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: appsv1.StatefulSetSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "db", takesGracePeriod: "taken"}}, Spec: pods},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	m.c.Deployment(t, m.namespace, "web", 4, func(s *corev1.PodSpec) { *s = pods })
	m.running(5)
	m.node(m.to, "4Gi", nil)
	out := (&places{move: *m, fails: map[string]placement.Range{}}).simulate([]string{m.from})
	for i := range out.Workloads {
		if w := &out.Workloads[i]; w.Missing != (placement.Range{Min: 0, Max: 1}) {
			t.Errorf("%v pods of %s are predicted to be Pending", w.Missing, w.Name)
		}
	}
	start := time.Now()
	m.c.Patch(t, m.from, `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
	acctest.Until(t, "the pod of the StatefulSet is Pending", func(ctx context.Context) (bool, error) {
		pod, err := m.c.Admin.CoreV1().Pods(m.namespace).Get(ctx, "db-0", metav1.GetOptions{})
		if err != nil {
			return false, nil //nolint:nilerr // It is being replaced.
		}
		return pod.DeletionTimestamp == nil && pod.Spec.NodeName == "" && condition(pod, corev1.PodScheduled).Status == corev1.ConditionFalse, nil
	})
	if took := time.Since(start); took < 5*time.Second {
		t.Errorf("the pod was replaced after %s, within its grace period", took)
	}
	m.running(4)
}

// end gives pods a grace period of a second, or a longer one. Of those with a longer one half take it to end.
func (p *places) end(pods *corev1.PodTemplateSpec) {
	switch p.graces.IntN(3) {
	case 0:
		pods.Spec.TerminationGracePeriodSeconds = new(int64(1))
	case 1:
		pods.Spec.TerminationGracePeriodSeconds = new(int64(5))
		pods.Labels = map[string]string{"app": pods.Labels["app"], takesGracePeriod: "taken"}
	}
}
