// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_namesThePodThatStopsALinkedRollout: the template has the tolerations, so that
// their own plan is empty, and the controller of the StatefulSet replaces no pod while one is not ready.
// The plan, and the error of an apply that waits in vain, name the pod and the way out.
func TestMachineSetTaints_namesThePodThatStopsALinkedRollout(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, apps := s.sized(2), s.c.Namespace(t)
		s.c.StatefulSet(t, apps, "web", 2, func(spec *corev1.PodSpec) {
			spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign)
		})
		pods := s.c.Admin.CoreV1().Pods(apps)
		pod, err := pods.Get(t.Context(), "web-0", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}}
		if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		i := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
		tolerations := map[string]any{
			"workload":    map[string]any{"kind": "StatefulSet", "namespace": apps, "name": "web"},
			"tolerations": []any{map[string]any{"key": "team", "value": "a", "effect": "NoExecute"}}, "wait_for_rollout": false,
		}
		if d := s.tf.Apply(t, i, tolerations); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		taints := acctest.With(s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": "in_place"}), map[string]any{
			"tolerated_by": []any{s.tf.Attributes(t, i)["id"]}, "timeouts": map[string]any{"create": "30s"},
		})
		run := s.tf.Walk(t)
		if again := run.Plan(i, tolerations); !again.Empty {
			t.Fatal("the tolerations are planned again")
		}
		way := []string{"OrderedReady", "kubectl delete pod web-0 -n " + apps}
		planned := run.Plan(newInstance(), taints)
		acctest.WantAll(t, planned.Diagnostics.Warnings(), append(way, `AttributeName("tolerated_by")`, `The rollout of StatefulSet "`+apps+`/web" stops until web-0 is ready`)...)
		acctest.WantAll(t, s.tf.Apply(t, newInstance(), taints).Errors(), append(way, "do not tolerate them yet", "1 pod not ready or terminating: web-0")...)
		p.Want(2, foreign)
	})
}
