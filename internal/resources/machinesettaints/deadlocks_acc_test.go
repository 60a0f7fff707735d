// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// pinned makes a Deployment whose pods run on a pool alone, one on each of its
// machines, and tolerate these taints beside those that are there.
func (s *stage) pinned(p *acctest.Pool, apps, app, tolerates string) {
	s.Helper()
	replicas := int32(len(p.Names()))
	s.c.Deployment(s.T, apps, app, replicas, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = acctestTolerations(s.T, foreign+" "+tolerates)
		spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		}}
	})
}

// PDB lets so many pods of a workload be missing, and waits until that is worked
// out. The function that it returns takes it away.
func (s *stage) budget(apps, app, name string, missing, pods int32) (remove func()) {
	s.Helper()
	most := intstr.FromInt32(missing)
	budgets := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps)
	_, err := budgets.Create(s.Context(), &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: policyv1.PodDisruptionBudgetSpec{
		MaxUnavailable: &most, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
	}}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	acctest.Until(s.T, "the budget counts its pods", func(ctx context.Context) (bool, error) {
		b, err := budgets.Get(ctx, name, metav1.GetOptions{})
		return err == nil && b.Status.ExpectedPods == pods && b.Status.DisruptionsAllowed == missing, err
	})
	return func() {
		s.Helper()
		if err := budgets.Delete(s.Context(), name, metav1.DeleteOptions{}); err != nil {
			s.Fatal(err)
		}
	}
}

// TestAccMachineSetTaints_deadlocks: what the plan says never ends does not end, with
// each strategy that drains, until a user lets go; and what it is silent about goes
// through.
func TestAccMachineSetTaints_deadlocks(t *testing.T) {
	t.Parallel()
	const untainted, twice = "pods that never run again", "two budgets for one pod"
	for name, tt := range map[string]struct {
		tolerates string
		budgets   map[string]int32
		says      string
	}{
		"a budget that lets one be missing is no deadlock": {"team=a:NoExecute", map[string]int32{"one": 1}, ""},
		"a budget that lets none be missing":               {"team=a:NoExecute", map[string]int32{"none": 0}, "allows no eviction even when all of its pods are healthy, and 2 of them are to be drained"},
		untainted:                                          {"", map[string]int32{"one": 1}, "before nodelink adds its taints lets the drain go on"},
		twice:                                              {"team=a:NoExecute", map[string]int32{"one": 1, "two": 2}, "is covered by 2 PodDisruptionBudgets (one, two), and the eviction API refuses to evict it until only one does"},
	} {
		for _, strategy := range []string{"rolling", "surge", "scale_to_zero"} {
			t.Run(strings.ReplaceAll(name, " ", "_")+"/"+strategy, func(t *testing.T) {
				t.Parallel()
				oneStrategy(t, strategy)
				s := newStage(t)
				p := s.pool(2, nil)
				apps := s.c.Namespace(t)
				s.pinned(p, apps, "db", tt.tolerates)
				var remove []func()
				for budget, missing := range tt.budgets {
					remove = append(remove, s.budget(apps, "db", budget, missing, 2))
				}
				if name == untainted {
					// As kubelets with --register-with-taints do: no pod gets ready on a new node
					// before nodelink adds the taints, as on a busy machine some did.
					p.ChangeCloudOfNew(`{"node":{"taints":[{"key":"team","value":"a","effect":"NoExecute"}]}}`)
				}
				config := s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": strategy})
				planned := s.tf.Plan(t, newInstance(), config).Diagnostics
				i := newInstance()
				if tt.says == "" {
					if strings.Contains(planned.Warnings(), "gets stuck on PodDisruptionBudgets") {
						t.Errorf("the plan says %s", planned.Warnings())
					}
					s.apply(i, config)
					p.Want(2, foreign+" team=a:NoExecute")
					s.comesBack(apps, "db", 2, "pool", p.Name)
					return
				}
				acctest.WantAll(s.T, planned.Warnings(), "gets stuck on PodDisruptionBudgets", tt.says)
				held := "is held by PodDisruptionBudget"
				if name == twice {
					held = "and the eviction API refuses to evict it until only one does"
				}
				s.heldUp(i, config, "the rollout timed out", "pod "+apps+"/db-", held)
				for _, f := range remove {
					f()
				}
				s.apply(i, config)
				p.Want(2, foreign+" team=a:NoExecute")
			})
		}
	}
}

// TestAccMachineSetTaints_podsThatWaitForMachinesThatWaitForPods: the plan refuses
// wait_for = "removed" there, and rightly so: a set that is scaled to zero stands
// still, and goes on when new machines are let come.
func TestAccMachineSetTaints_podsThatWaitForMachinesThatWaitForPods(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(2, nil)
	apps := s.c.Namespace(t)
	s.pinned(p, apps, "db", "team=a:NoExecute")
	s.budget(apps, "db", "one", 1, 2)
	before := p.Names()
	config := s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": "scale_to_zero", "wait_for": "removed"})
	acctest.WantAll(s.T, s.tf.Plan(t, newInstance(), config).Diagnostics.Errors(), `AttributeName("rollout").AttributeName("wait_for")`, "with this wait_for",
		"allows 1 unavailable pod, and 2 to be drained fit only new machines", `Use wait_for = "marked_deleted"`)
	if p.Replicas() != 2 || p.Template() != "vendor=x:NoSchedule" {
		t.Fatal("the plan has written")
	}

	s.c.Change(t, p.Thing, "somebody", `{"spec":{"replicas":0}}`)
	acctest.Until(t, "one pod is pending and the other is held", func(ctx context.Context) (bool, error) {
		b, err := s.c.Admin.PolicyV1().PodDisruptionBudgets(apps).Get(ctx, "one", metav1.GetOptions{})
		if err != nil || b.Status.DisruptionsAllowed > 0 {
			return false, err
		}
		waiting, running := 0, 0
		for _, pod := range s.live(ctx, apps, "db") {
			if pod.Spec.NodeName == "" {
				waiting++
			} else {
				running++
			}
		}
		return waiting == 1 && running == 1, nil
	})
	s.c.Change(t, p.Thing, "somebody", `{"spec":{"replicas":2}}`)
	p.Serve(2)
	s.c.Running(t, apps, "db", 2)
	for _, name := range p.Names() {
		for _, old := range before {
			if name == old {
				t.Errorf("machine %s is still there", name)
			}
		}
	}
}
