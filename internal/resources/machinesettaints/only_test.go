// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite: pods of replaced machines need an
// approval, whatever they tolerate, and so do those that come after the plan.
func TestMachineSetTaints_onlyIsCheckedAtPlanAndAgainBeforeTheFirstWrite(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		apps, i, p := s.c.Namespace(t), newInstance(), s.pool(1, nil)
		run := func(app string) {
			s.c.Deployment(t, apps, app, 1, func(spec *corev1.PodSpec) {
				spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign+" team=a:NoSchedule")
			})
			s.c.Running(t, apps, app, 1)
		}
		run("web")
		config := func(only ...any) map[string]any {
			return acctest.With(s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"}), map[string]any{"evictions": map[string]any{"only": only}})
		}
		acctest.WantAll(t, s.tf.Plan(t, i, config("other/*")).Diagnostics.Errors(), `AttributeName("only")`, "1 pod of "+apps+"/Deployment/web would be evicted, and evictions.only does not list it",
			"\""+apps+"/Deployment/web\",\n      \"other/*\",")
		approved := config(apps + "/Deployment/web")
		planned := s.tf.Plan(t, i, approved)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		before := p.Names()
		walk := s.tf.Walk(t)
		walk.Between = func() { run("api") }
		acctest.WantAll(t, walk.ApplyChange(i, planned, approved).Errors(), "1 pod of "+apps+"/Deployment/api would be evicted")
		p.Want(1, foreign)
		if now := p.Names(); now[0] != before[0] {
			t.Fatalf("the machine was %s and is %s", before[0], now[0])
		}
		s.apply(newInstance(), config(apps+"/Deployment/*"))
		p.Want(1, foreign+" team=a:NoSchedule")
	})
}

// The pod of a replaced machine preempts another one on a node that is not replaced.
func TestMachineSetTaints_limitsCountWhatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"rolling", "scale_to_zero", "surge"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				i, p := newInstance(), s.pool(1, nil)
				pods := s.c.Preempting(t, p.Name, p.Names()[0])
				config := func(evictions map[string]any) map[string]any {
					return acctest.With(s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy}), map[string]any{"evictions": evictions})
				}
				protecting := config(map[string]any{"protected_namespaces": []string{pods.Other}})
				planned := s.tf.Plan(t, i, protecting)
				if planned.Diagnostics.Errors() != "" {
					t.Fatal(planned.Diagnostics.Errors())
				}
				before, walk := p.Names(), s.tf.Walk(t)
				walk.Between = pods.Calm
				acctest.WantAll(t, walk.ApplyChange(i, planned, protecting).Errors(), "protected_namespaces", "1 pod of protected namespaces would be evicted")
				p.Want(1, foreign)
				if now := p.Names(); now[0] != before[0] {
					t.Fatalf("the machine was %s and is %s", before[0], now[0])
				}
				pods.Exceeded(t, func(evictions map[string]any) string {
					return s.tf.Plan(t, newInstance(), config(evictions)).Diagnostics.Errors()
				})
			})
		})
	}
}
