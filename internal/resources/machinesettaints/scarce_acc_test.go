// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// heldUp creates with so little time that it ends where something holds it up, and
// returns the error, which has these parts. Each apply goes on where the one before
// stopped, and has more time: on a busy machine the first may not come that far.
func (s *stage) heldUp(i *acctest.Instance, config map[string]any, parts ...string) string {
	s.Helper()
	told := ""
	for _, limit := range []string{"5s", "10s", "15s", "15s", "15s", "30s"} {
		told = s.tf.Apply(s.T, i, acctest.With(config, map[string]any{"timeouts": map[string]any{"create": limit}})).Errors()
		// A test that fails shows how far each of them came.
		s.Logf("apply within %s: %q", limit, told)
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(told, part) }) {
			break
		}
	}
	acctest.WantAll(s.T, told, parts...)
	return told
}

// TestAccMachineSetTaints_quota: where old machines count until they are gone, the
// strategies that delete first get by; surge does not, reports what it waits for, loses
// no count, and goes on when there is room.
func TestAccMachineSetTaints_quota(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy string
		// atFirst is the quota with which the machines came, of the one for those that
		// come later.
		atFirst, later string
		// replicas are found after an apply that fails, 0 where it succeeds.
		replicas int
	}{
		"rolling makes its own room":        {"rolling", `{"quota":2}`, "", 0},
		"scale to zero makes its own room":  {"scale_to_zero", `{"quota":2}`, "", 0},
		"surge has no room":                 {"surge", `{"quota":2}`, "", 3},
		"rolling where the quota was cut":   {"rolling", "", `{"quota":1}`, 2},
		"scale to zero where it was cut":    {"scale_to_zero", "", `{"quota":1}`, 2},
		"in place needs no machine at all":  {"in_place", "", `{"quota":0}`, 0},
		"scale to zero where none can come": {"scale_to_zero", "", `{"quota":0}`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, tt.strategy)
			s := newStage(t)
			p, i := s.pool(2, nil), newInstance()
			if tt.atFirst != "" {
				p.ChangeCloud(tt.atFirst)
			} else {
				p.ChangeCloudOfNew(tt.later)
			}
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
			if tt.replicas > 0 {
				// Provisioning, or not provisioned yet.
				s.heldUp(i, config, "the rollout timed out", "rovision", "Apply again: the rollout continues where it stopped.")
				if got := p.Replicas(); got != tt.replicas || p.Annotation("kubetaint.io/rollout") == "" {
					t.Fatalf("the count is %d and the marker %q", got, p.Annotation("kubetaint.io/rollout"))
				}
				p.ChangeCloud(`{"quota":null}`)
			}
			s.apply(i, config)
			p.Want(2, foreign+" team=a:NoSchedule")
		})
	}
}

// TestAccMachineSetTaints_aBudgetThatNeverGivesWay holds each draining strategy until
// its time is over. No count is lost, and the next apply goes on once the PDB allows it.
func TestAccMachineSetTaints_aBudgetThatNeverGivesWay(t *testing.T) {
	t.Parallel()
	for name, rollout := range map[string]map[string]any{
		"surge":                 {"strategy": "surge"},
		"scale_to_zero":         {"strategy": "scale_to_zero"},
		"scale_to_zero removed": {"strategy": "scale_to_zero", "wait_for": "removed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, i := s.pool(1, nil), newInstance()
			apps := s.c.Namespace(t)
			s.heldBy(p, apps, "strict")
			config := s.config(p.Name, "team=a:NoSchedule", rollout)
			s.heldUp(i, config, "the rollout timed out", "is being deleted", "pod "+apps+"/db-", `is held by PodDisruptionBudget "`+apps+`/strict"`)
			if got := p.Replicas(); got != 1 {
				t.Fatalf("the count is %d", got)
			}
			if err := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps).Delete(t.Context(), "strict", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			s.apply(i, config)
			p.Want(1, foreign+" team=a:NoSchedule")
		})
	}
}

// heldBy has a pod run on a machine of a pool, and fit nowhere else, that a PDB
// never lets go.
func (s *stage) heldBy(p *acctest.Pool, apps, budget string) {
	s.Helper()
	s.c.Deployment(s.T, apps, "db", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	none := intstr.FromInt32(0)
	strict := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: budget}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
	}}
	if _, err := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps).Create(s.Context(), strict, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
}

// autoscaled is what a MachineAutoscaler puts on the MachineSet that it scales.
func autoscaled(least, most string) map[string]string {
	return map[string]string{
		"autoscaling.openshift.io/machineautoscaler":                      "openshift-machine-api/gpu",
		"machine.openshift.io/cluster-api-autoscaler-node-group-min-size": least,
		"machine.openshift.io/cluster-api-autoscaler-node-group-max-size": most,
	}
}
