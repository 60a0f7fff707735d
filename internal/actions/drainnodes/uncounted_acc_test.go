// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccDrainNodes_budgetsThatAllowNoEviction although all of their pods are healthy, and their own numbers show room for
// one: the disruption controller cannot count the pods of a Job, and counts failed ones among those that it expects.
func TestAccDrainNodes_budgetsThatAllowNoEviction(t *testing.T) {
	t.Parallel()
	acctest.NeedKwok(t, "nodes of a chosen size")
	two := intstr.FromInt32(2)
	one := intstr.FromInt32(1)
	selected := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }
	for name, tt := range map[string]struct {
		budget  policyv1.PodDisruptionBudgetSpec
		run     func(e *ending)
		counted func(policyv1.PodDisruptionBudgetStatus) bool
		word    string
		why     string
	}{
		"pods of a Job": {
			policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &one},
			func(e *ending) {
				e.c.Job(e, e.namespace, "db", 2, func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"pool": e.pool} })
				e.c.Running(e, e.namespace, "db", 2)
			},
			func(s policyv1.PodDisruptionBudgetStatus) bool {
				c := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
				return c != nil && c.Reason == policyv1.SyncFailedReason
			},
			mayNotEnd, "its controller does not know how many pods are expected",
		},
		"a failed pod beside two healthy ones": {
			policyv1.PodDisruptionBudgetSpec{MinAvailable: &two},
			func(e *ending) {
				e.deploy(2)
				e.c.Running(e, e.namespace, "db", 2)
				e.c.Pod(e, e.namespace, "failed", e.drained(), selected)
				// KWOK reports the pod as running once. It must not do so after the pod has failed.
				e.c.Running(e, e.namespace, "db", 3)
				acctest.Until(e, "the pod has failed", func(ctx context.Context) (bool, error) {
					failed, err := e.c.Admin.CoreV1().Pods(e.namespace).Get(ctx, "failed", metav1.GetOptions{})
					if err != nil || failed.Status.Phase == corev1.PodFailed {
						return err == nil, err
					}
					failed.Status.Phase = corev1.PodFailed
					failed.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: metav1.Now()}}
					_, err = e.c.Admin.CoreV1().Pods(e.namespace).UpdateStatus(ctx, failed, metav1.UpdateOptions{})
					if apierrors.IsConflict(err) {
						err = nil
					}
					return false, err
				})
			},
			func(s policyv1.PodDisruptionBudgetStatus) bool { return s.ExpectedPods == 3 && s.CurrentHealthy == 2 },
			neverEnds, "as it counts 1 completed",
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			e := &ending{T: t, c: acctest.Connect(t), pool: acctest.Name(t, "pool")}
			e.namespace = e.c.Namespace(t)
			e.node(e.drained(), 3)
			tt.run(e)
			e.node(e.pool+"-b", 3)
			tt.budget.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}
			budgets := e.c.Admin.PolicyV1().PodDisruptionBudgets(e.namespace)
			_, err := budgets.Create(t.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: "db"}, Spec: tt.budget}, metav1.CreateOptions{})
			e.must(err)
			acctest.Until(t, "the PodDisruptionBudget has its status", func(ctx context.Context) (bool, error) {
				b, err := budgets.Get(ctx, "db", metav1.GetOptions{})
				return err == nil && tt.counted(b.Status), err
			})
			d := (&acctest.Terraform{Provider: e.c.Provider(t)}).Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_name": e.drained(), "timeout": "20s"})
			if !strings.Contains(d.Warnings(), tt.word) || !strings.Contains(unwrapped(d.Warnings()), tt.why) {
				t.Errorf("the plan does not report that the drain %s, since %q: %s", tt.word, tt.why, d.Warnings())
			}
			if !strings.Contains(d.Errors(), "the drain timed out") {
				t.Errorf("the drain reports %q", d.Errors())
			}
		})
	}
}

// unwrapped joins the lines of a message.
func unwrapped(s string) string { return strings.Join(strings.Fields(s), " ") }
