// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_oneThatTheSameApplyMakesIsFound though MachineSets were listed
// before: its name is known at apply alone, and the plan that Terraform makes then comes
// after what makes it.
func TestMachineSetTaints_oneThatTheSameApplyMakesIsFound(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		apply, other := s.tf.Walk(t), s.pool(1, nil)
		inPlace := map[string]any{"strategy": "in_place"}
		if d := apply.Plan(newInstance(), s.config(other.Name, "team=a:NoSchedule", inPlace)).Diagnostics; d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		made, i := s.pool(1, nil), newInstance()
		config := s.config(made.Name, "team=a:NoSchedule", inPlace)
		if d := apply.ApplyChange(i, s.tf.Plan(t, i, config), config); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		made.Want(1, foreign+" team=a:NoSchedule")
	})
}

func TestMachineSetTaints_aTemplateThatOthersEditReplacesNothing(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(2, nil)
		i := newInstance()
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"})
		s.apply(i, config)
		before := strings.Join(p.Names(), " ")
		s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"metadata":{"labels":{"more":"x"}},"spec":{"taints":[{"key":"vendor","value":"x","effect":"NoSchedule"},{"key":"team","value":"a","effect":"NoSchedule"},{"key":"other","effect":"NoSchedule"}]}}}}`)
		s.apply(i, config)
		if after := strings.Join(p.Names(), " "); after != before {
			t.Fatalf("the machines were %s and are %s", before, after)
		}
		s.apply(i, nil)
		if got := p.Template(); got != "other:NoSchedule, vendor=x:NoSchedule" {
			t.Fatalf("the template has %q", got)
		}
	})
}

func TestMachineSetTaints_importThenDestroyTakesThemAway(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(1, func(m *acctest.MachineSet) { m.Taints = foreign + " team=a:NoSchedule" })
		i, d := s.tf.Import(t, "kubetaint_machine_set_taints", s.namespace+"/"+p.Name+"/team:NoSchedule")
		if d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "template_only"})
		if planned := s.tf.Plan(t, i, config); !planned.Empty || planned.Diagnostics.Warnings() != "" {
			t.Fatalf("the plan after the import is not empty: %s", planned.Diagnostics.Warnings())
		}
		config = s.config(p.Name, "team=b:NoSchedule", map[string]any{"strategy": "in_place"})
		s.apply(i, config)
		p.Want(1, foreign+" team=b:NoSchedule")
		s.apply(i, nil)
		p.Want(1, foreign)
	})
}

// TestMachineSetTaints_restartsThatTheyLeadToAreAnnounced leaves a toleration
// retiring, whose resource is gone, and takes the taint off the machines: the plan says
// whose pods restart.
func TestMachineSetTaints_restartsThatTheyLeadToAreAnnounced(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, apps := s.pool(1, nil), s.c.Namespace(t)
		s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
			spec.NodeSelector = map[string]string{"pool": p.Name}
			spec.Tolerations = acctestTolerations(t, foreign)
		})
		s.c.Running(t, apps, "web", 1)
		tolerations := &acctest.Instance{Type: "kubetaint_workload_tolerations"}
		tolerates := map[string]any{
			"workload":    map[string]any{"kind": "Deployment", "namespace": apps, "name": "web"},
			"tolerations": []any{map[string]any{"key": "team", "value": "a", "effect": "NoExecute"}},
		}
		if d := s.tf.Apply(t, tolerations, tolerates); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		taints := newInstance()
		s.apply(taints, s.config(p.Name, "team=a:NoExecute", map[string]any{"strategy": "in_place"}))
		// Runs of a configuration have both.
		walk := s.tf.Walk(t)
		if d := append(walk.Refresh(tolerations), walk.Refresh(taints)...); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		if d := s.tf.Apply(t, tolerations, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}

		planned := s.tf.Plan(t, taints, nil)
		acctest.WantAll(s.T, planned.Diagnostics.Warnings(), `Removing team=a:NoExecute from MachineSet "`+s.namespace+"/"+p.Name+`" restarts 1 pod of Deployment "`+apps+`/web" in 1 rollout`)
		if d := s.tf.Carry(t, taints, planned, nil); d.Errors() != "" {
			t.Fatal(d.Errors())
		}
		p.Want(1, foreign)
		if got := s.c.Tolerations(t, apps, "Deployment", "web"); got != "vendor=x:NoSchedule" {
			t.Fatalf("the template has %s", got)
		}
	})
}
