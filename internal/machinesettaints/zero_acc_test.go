// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_interruptedAtZeroComesBackThoughLinkedPodsHaveNoOtherPlace: the
// second pod of the StatefulSet is made once the first is ready, which needs a machine. To
// wait for both before the rollout goes on would never end.
func TestAccMachineSetTaints_interruptedAtZeroComesBackThoughLinkedPodsHaveNoOtherPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, apps := s.pool(2, nil), s.c.Namespace(t)
	s.c.StatefulSet(t, apps, "db", 2, func(spec *corev1.PodSpec) {
		spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign)
	})
	cli := acctest.NewCLI(t)
	taints := strings.Replace(s.hcl(p.Name, "a", `strategy = "scale_to_zero"`), "  rollout", "  tolerated_by = [kubetaint_workload_tolerations.db.id]\n  rollout", 1)
	taints = strings.ReplaceAll(taints, `"10m"`, `"4m"`)
	cli.Write(s.c.Provider(t), taints+fmt.Sprintf(`resource "kubetaint_workload_tolerations" "db" {
  workload    = { kind = "StatefulSet", namespace = %q, name = "db" }
  tolerations = [{ key = "team", value = "a", effect = "NoSchedule" }]
}
`, apps))
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, foreign+" team=a:NoSchedule")

	p.LeaveAtZero(fmt.Sprintf("terraform/machine_set_taints/%s/%s/team:NoSchedule", s.namespace, p.Name))
	s.c.StuckAtFirst(t, apps, "db")
	if plan := cli.MustRun("plan", "-input=false", "-no-color"); !saysInterrupted(plan) {
		t.Fatalf("the plan does not say that a rollout is interrupted:\n%s", plan)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, foreign+" team=a:NoSchedule")
	s.c.Running(t, apps, "db", 2)
	cli.WantEmptyPlan()
}

// TestAccMachineSetTaints_anotherSetsBudgetKeepsNoneAtZero: what was allowed before it was
// interrupted goes on, though the one that has not begun is refused.
func TestAccMachineSetTaints_anotherSetsBudgetKeepsNoneAtZero(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	apps, i := s.c.Namespace(t), newInstance()
	group := func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} }
	one, other := s.pool(1, group), s.pool(1, group)
	config := acctest.With(s.config("", "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"}), map[string]any{
		"name": nil, "selector": "group=gpu", "evictions": map[string]any{"max_pods": 0},
	})
	s.apply(i, config)
	id, _ := s.tf.Attributes(t, i)["id"].(string)
	// The one of the two whose turn would come last.
	begun, p := one, other
	if one.Name < other.Name {
		begun, p = other, one
	}
	begun.LeaveAtZero(id)
	planned := s.tf.Plan(t, i, nil)
	if planned.Diagnostics.Errors() != "" {
		t.Fatal(planned.Diagnostics.Errors())
	}
	s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign+" team=a:NoSchedule")
	})
	acctest.WantAll(s.T, s.tf.Carry(t, i, planned, nil).Errors(), "max_pods", "1 pod would leave")
	begun.Want(1, foreign)
	p.Want(1, foreign+" team=a:NoSchedule")
}

// TestAccMachineSetTaints_somebodyWhoRemovesTheMarkerAtZeroIsAnError: the count is gone with
// it, and zero is not taken for it.
func TestAccMachineSetTaints_somebodyWhoRemovesTheMarkerAtZeroIsAnError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
	errors := s.disturbed(i, config, func(acctest.Request) {
		s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/rollout":null}}}`)
	})
	acctest.WantAll(s.T, errors, "Somebody removed the annotation kubetaint.io/rollout from MachineSet", "It held the number of replicas from before the rollout", "spec.replicas is 0 now and was 2 before the rollout", "--replicas=2), and run again")
	p.Scale(2)
	s.apply(i, config)
	p.Want(2, foreign+" team=a:NoSchedule")
}

// TestAccMachineSetTaints_somebodyWhoKeepsRevertingTheTemplateIsAnError, rather than machines
// that are deleted for as long as the apply may take.
func TestAccMachineSetTaints_somebodyWhoKeepsRevertingTheTemplateIsAnError(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	before, config := p.Template(), s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
	proxy := s.c.Proxy(t)
	proxy.InTurn()
	tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
	planned := tf.Plan(t, i, config)
	// Before the apply hears that it has written: no machine can be made from its template
	// between two steps, by which the rollout would succeed now and then.
	proxy.After(func(r acctest.Request) {
		if r.Write() && p.Template() != before {
			s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"spec":{"taints":[{"key":"vendor","value":"x","effect":"NoSchedule"}]}}}}`)
		}
	})
	errors := tf.Carry(t, i, planned, config).Errors()
	acctest.WantAll(s.T, errors, "somebody else keeps changing back what is written to MachineSet \""+p.Namespace+"/"+p.Name+"\"", "Find out who by its managedFields (kubectl get machineset.machine.openshift.io "+p.Name+" -n "+p.Namespace+" -o yaml --show-managed-fields)")
}
