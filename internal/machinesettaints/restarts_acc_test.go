// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_restartsThatTheyLeadToAreAnnounced leaves a toleration
// retiring, whose resource is gone, and takes the taint off the machines: the plan says
// whose pods restart. It does not run beside other tests, which would take the
// toleration away.
//
//nolint:paralleltest // See above.
func TestAccMachineSetTaints_restartsThatTheyLeadToAreAnnounced(t *testing.T) {
	s := stageOn(t, acctest.Alone(t))
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
}
