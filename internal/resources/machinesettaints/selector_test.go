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

// TestMachineSetTaints_selector changes three MachineSets by one resource, as many
// in parallel as the provider block allows. One that leaves the selector gives up the
// taints, one that comes gets them, and the others are left alone.
func TestMachineSetTaints_selector(t *testing.T) {
	t.Parallel()
	for _, atOnce := range []int{1, 2} {
		t.Run(fmt.Sprintf("%d at once", atOnce), func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				s.tf.Provider = acctest.With(s.tf.Provider, map[string]any{"max_concurrent_rollouts": atOnce})
				var pools []*acctest.Pool
				for range 3 {
					pools = append(pools, s.pool(1, func(m *acctest.MachineSet) {
						m.Labels, m.Cloud = map[string]string{"group": "gpu"}, map[string]any{"provisionDelay": "1s"}
					}))
				}
				i := newInstance()
				config := acctest.With(s.config("", "team=a:NoSchedule", map[string]any{"strategy": "rolling"}), map[string]any{"name": nil, "selector": "group=gpu"})
				most := s.c.MostMarked(t, s.namespace)
				s.apply(i, config)
				if got := most(); got != atOnce {
					t.Fatalf("%d MachineSets were rolled out at the same time, want %d", got, atOnce)
				}
				for _, p := range pools {
					p.Want(1, foreign+" team=a:NoSchedule")
				}
				stay := strings.Join(append(pools[0].Names(), pools[1].Names()...), " ")
				s.c.Change(t, pools[2].Thing, "somebody", `{"metadata":{"labels":{"group":"cpu"}}}`)
				if planned := s.tf.Plan(t, i, config); planned.Empty {
					t.Fatal("a MachineSet has left the selector, and the plan is empty")
				}
				s.apply(i, config)
				pools[2].Want(1, foreign)
				if now := strings.Join(append(pools[0].Names(), pools[1].Names()...), " "); now != stay {
					t.Fatalf("the machines of the others were %s and are %s", stay, now)
				}
				s.c.Change(t, pools[2].Thing, "somebody", `{"metadata":{"labels":{"group":"gpu"}}}`)
				s.apply(i, config)
				pools[2].Want(1, foreign+" team=a:NoSchedule")
				s.apply(i, nil)
				for _, p := range pools {
					p.Want(1, foreign)
				}
			})
		})
	}
}

// TestMachineSetTaints_aBudgetIsForAllSetsTogether: pods that have come since the
// plan of a destroy count before the first write, on whichever MachineSet's machines
// they run.
func TestMachineSetTaints_aBudgetIsForAllSetsTogether(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		apps, i := s.c.Namespace(t), newInstance()
		pools := []*acctest.Pool{}
		for range 2 {
			pools = append(pools, s.pool(1, func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} }))
		}
		config := acctest.With(s.config("", "team=a:NoSchedule", map[string]any{"strategy": "rolling"}), map[string]any{
			"name": nil, "selector": "group=gpu", "evictions": map[string]any{"max_pods": 1},
		})
		s.apply(i, config)
		planned := s.tf.Plan(t, i, nil)
		if planned.Diagnostics.Errors() != "" {
			t.Fatal(planned.Diagnostics.Errors())
		}
		for n, p := range pools {
			app := fmt.Sprintf("web-%d", n)
			s.c.Deployment(t, apps, app, 1, func(spec *corev1.PodSpec) {
				spec.NodeSelector, spec.Tolerations = map[string]string{"pool": p.Name}, acctestTolerations(t, foreign+" team=a:NoSchedule")
			})
			s.c.Running(t, apps, app, 1)
		}
		acctest.WantAll(s.T, s.tf.Carry(t, i, planned, nil).Errors(), "max_pods", `MachineSets matching "group=gpu"`)
		for _, p := range pools {
			p.Want(1, foreign+" team=a:NoSchedule")
		}
		config["evictions"] = map[string]any{"max_pods": 2}
		s.apply(i, config)
		s.apply(i, nil)
		for _, p := range pools {
			p.Want(1, foreign)
		}
	})
}
