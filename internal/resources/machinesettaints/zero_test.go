// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_anotherSetsBudgetKeepsNoneAtZero: what was allowed before it was
// interrupted goes on, though the one that has not begun is refused.
func TestMachineSetTaints_anotherSetsBudgetKeepsNoneAtZero(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
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
		acctest.WantAll(s.T, planned.Diagnostics.Warnings(), "Apply continues an interrupted rollout of MachineSet", "now it is 0. No old machine is left, and 1 new machine is not ready yet. Apply continues")
		s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign+" team=a:NoSchedule")
		})
		acctest.WantAll(s.T, s.tf.Carry(t, i, planned, nil).Errors(), "max_pods", "1 pod would be evicted")
		begun.Want(1, foreign)
		p.Want(1, foreign+" team=a:NoSchedule")
	})
}

// TestMachineSetTaints_aMarkerRemovedAtZeroIsAnError: the count is gone with
// it, and zero is not mistaken for it.
func TestMachineSetTaints_aMarkerRemovedAtZeroIsAnError(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(2, nil), newInstance()
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
		errors := s.disturbed(i, config, func(acctest.Request) {
			s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/rollout":null}}}`)
		})
		acctest.WantAll(s.T, errors, "Another writer removed the annotation kubetaint.io/rollout from MachineSet", "It held the number of replicas from before the rollout", "spec.replicas is 0 now and was 2 before the rollout", "--replicas=2), and run again")
		p.Scale(2)
		s.apply(i, config)
		p.Want(2, foreign+" team=a:NoSchedule")
	})
}

// TestMachineSetTaints_noErrorLeavesASetAtZero: another writer spoils the record of who
// owns what, right before the count is brought back.
func TestMachineSetTaints_noErrorLeavesASetAtZero(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(2, nil), newInstance()
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
		record := ""
		acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) {
			record = p.Annotation("kubetaint.io/owned-taints")
			s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/owned-taints":"{"}}}`)
		}), `AttributeName("name")`, "Unable to read who owns the taints of MachineSet", "the annotation kubetaint.io/owned-taints is damaged", "kubetaint.io/owned-taints-", "spec.replicas has been restored to 2.")
		if got := p.Replicas(); got != 2 {
			t.Fatalf("the count is %d", got)
		}
		s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/owned-taints":`+strconv.Quote(record)+`}}}`)
		s.apply(i, config)
		p.Want(2, foreign+" team=a:NoSchedule")
	})
}

// TestMachineSetTaints_aWriterThatKeepsRevertingTheTemplateIsAnError, rather than machines
// that are deleted for as long as the apply may take.
func TestMachineSetTaints_aWriterThatKeepsRevertingTheTemplateIsAnError(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
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
		acctest.WantAll(s.T, errors, "another controller keeps reverting what is written to MachineSet \""+p.Namespace+"/"+p.Name+"\"", "Find out who by its managedFields (kubectl get machineset.machine.openshift.io "+p.Name+" -n "+p.Namespace+" -o yaml --show-managed-fields)")
	})
}
