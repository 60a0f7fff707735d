// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_newMachinesTakePods: two machines are full, and a pod of a higher priority waits for room. Once new
// machines are there, one pod has no room: one of the others, unless the scheduler tries the one that has waited later, since
// it has tried it more often. With a surge, it has room before the others are evicted. Plans say so, max_pending counts that one alone, and the real scheduler does it.
func TestAccMachineSetTaints_newMachinesTakePods(t *testing.T) {
	t.Parallel()
	for strategy, said := range map[string]struct{ refused, plan string }{
		"rolling":       {"1 pod might stay Pending", "4 pending (3-4 until new machines are ready)"},
		"surge":         {"1 pod would stay Pending", "2 pending (1 until new machines are ready)"},
		"scale_to_zero": {"1 pod might stay Pending", "4 pending (3-4 until new machines are ready)"},
	} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(2, func(m *acctest.MachineSet) {
				m.Spare = added(map[string]any{"strategy": strategy})
				m.Cloud = map[string]any{"node": map[string]any{
					"labels": map[string]any{"pool": m.Name}, "allocatable": map[string]any{"cpu": "4", "memory": "16Gi", "pods": "20"},
				}}
			})
			apps, urgent := s.c.Namespace(t), acctest.Name(t, "urgent")
			shape := func(spec *corev1.PodSpec) {
				spec.NodeSelector = map[string]string{"pool": p.Name}
				spec.Tolerations = acctestTolerations(t, foreign+" team=a:NoSchedule")
				spec.Containers = []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10.2", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}}}}
			}
			s.c.Deployment(t, apps, "web", 4, shape)
			classes := s.c.Admin.SchedulingV1().PriorityClasses()
			if _, err := classes.Create(t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: urgent}, Value: 1000, PreemptionPolicy: new(corev1.PreemptNever)}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = classes.Delete(context.Background(), urgent, metav1.DeleteOptions{}) })
			waits := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "urgent", Labels: map[string]string{"app": "urgent"}}, Spec: corev1.PodSpec{PriorityClassName: urgent}}
			shape(&waits.Spec)
			acctest.Until(t, "admission knows the class", func(ctx context.Context) (bool, error) {
				_, err := s.c.Admin.CoreV1().Pods(apps).Create(ctx, waits, metav1.CreateOptions{})
				return err == nil, nil
			})
			s.pending(apps, "urgent")

			i, config := newInstance(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			refused := maps.Clone(config)
			refused["evictions"] = map[string]any{"max_pending": 0}
			acctest.WantAll(t, s.tf.Plan(t, i, refused).Diagnostics.Errors(), said.refused+", and max_pending allows 0")
			config["evictions"] = map[string]any{"max_pending": 1}
			acctest.WantAll(t, s.tf.Plan(t, i, config).Diagnostics.Warnings(), "evicts 4 pods: "+said.plan)
			s.apply(i, config)
			acctest.Until(t, "four pods run, and one is unschedulable", func(ctx context.Context) (bool, error) {
				running, pending := 0, 0
				for _, pod := range append(s.live(ctx, apps, "web"), s.live(ctx, apps, "urgent")...) {
					if ready(&pod) {
						running++
					} else if unschedulable(pod) {
						pending++
					}
				}
				return running == 4 && pending == 1, nil
			})
		})
	}
}
