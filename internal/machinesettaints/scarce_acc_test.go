// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"maps"
	"regexp"
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
// stopped: on a busy machine the first may not come that far.
func (s *stage) heldUp(i *acctest.Instance, config map[string]any, parts ...string) string {
	s.Helper()
	config = acctest.With(config, map[string]any{"timeouts": map[string]any{"create": "15s"}})
	told := ""
	for range 6 {
		told = s.tf.Apply(s.T, i, config).Errors()
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(told, part) }) {
			break
		}
	}
	acctest.WantAll(s.T, told, parts...)
	return told
}

// TestAccMachineSetTaints_quota: where old machines count until they are gone, the
// strategies that delete first get by; surge does not, says what it waits for, loses
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
// its time is over. No count is lost, and the next apply goes on once the budget does.
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

// heldBy has a pod run on a machine of a pool, and fit nowhere else, that a budget
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

// TestAccMachineSetTaints_anAutoscalerInTheMiddle scales right before the second
// write: what does not count on a number goes through with the new one, a surge stops.
func TestAccMachineSetTaints_anAutoscalerInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy string
		to       int
		// stops says that the apply stops, and wants are how many machines there are in
		// the end.
		stops bool
		wants int
	}{
		"in place, one more":                {"in_place", 3, false, 3},
		"rolling, one more":                 {"rolling", 3, false, 3},
		"rolling, one fewer":                {"rolling", 1, false, 1},
		"rolling, none":                     {"rolling", 0, false, 0},
		"surge, one more than it added":     {"surge", 4, true, 2},
		"surge, the one that it had added":  {"surge", 2, false, 2},
		"surge, fewer than there ever were": {"surge", 1, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, tt.strategy)
			s := newStage(t)
			p, i := s.pool(2, func(m *acctest.MachineSet) { m.Annotations = maps.Clone(autoscaled("0", "5")) }), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
			errors := s.disturbed(i, config, func(acctest.Request) { p.Scale(tt.to) })
			if tt.stops {
				acctest.WantAll(s.T, errors, "Somebody scaled MachineSet", "when spec.replicas was 2; now the rollout expects 2 or 3", "kubetaint.io/rollout-")
				if p.Replicas() != tt.to || p.Annotation("kubetaint.io/rollout") == "" {
					t.Fatalf("the count is %d and the marker %q", p.Replicas(), p.Annotation("kubetaint.io/rollout"))
				}
				// As the message says, which depends on whether an old machine is left.
				to := regexp.MustCompile(`--replicas=([23])\b`).FindStringSubmatch(errors)
				if to == nil {
					t.Fatalf("nothing says to what it is to be scaled: %s", errors)
				}
				p.Scale(map[string]int{"2": 2, "3": 3}[to[1]])
				s.apply(i, config)
			} else if errors != "" {
				t.Fatal(errors)
			}
			p.Want(tt.wants, foreign+" team=a:NoSchedule")
		})
	}
}

// TestAccMachineSetTaints_somebodyWhoScalesASetThatWaitsAtZero stops it before it brings
// the count back, which stays in the marker, and it goes on as the message says.
func TestAccMachineSetTaints_somebodyWhoScalesASetThatWaitsAtZero(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ to, back int }{
		"to one, and back to zero":           {1, 0},
		"to more than it had, and back to 2": {4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, i := s.pool(2, nil), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
			errors := s.disturbed(i, config, func(acctest.Request) { p.Scale(tt.to) })
			acctest.WantAll(s.T, errors, "Somebody scaled MachineSet", fmt.Sprintf("to %d during a rollout", tt.to), "now the rollout expects 0 or 2", "--replicas=2", "kubetaint.io/rollout-")
			if p.Replicas() != tt.to || !strings.Contains(p.Annotation("kubetaint.io/rollout"), `"originalReplicas":2`) {
				t.Fatalf("the count is %d and the marker %q", p.Replicas(), p.Annotation("kubetaint.io/rollout"))
			}
			p.Scale(tt.back)
			s.apply(i, config)
			p.Want(2, foreign+" team=a:NoSchedule")
		})
	}
}

// TestAccMachineSetTaints_theOtherWayOutOfAScaledSurge is the second one that its
// error names.
func TestAccMachineSetTaints_theOtherWayOutOfAScaledSurge(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, func(m *acctest.MachineSet) { m.Spare = 3 }), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})
	acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) { p.Scale(4) }), "kubetaint.io/rollout-", "and replaces the machines that are still old")
	s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/rollout":null}}}`)
	s.apply(i, config)
	p.Want(4, foreign+" team=a:NoSchedule")
}
