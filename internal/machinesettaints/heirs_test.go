// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_renamedWithoutMovedReplacesNoMachine: the destroy of the one
// object and the create of the other, in any order, would replace all machines twice. A
// MachineSet that has left the selector is given up all the same.
func TestMachineSetTaints_renamedWithoutMovedReplacesNoMachine(t *testing.T) {
	t.Parallel()
	for name, createFirst := range map[string]bool{"the destroy comes first": false, "the create comes first": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				group := func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} }
				p, left := s.pool(2, group), s.pool(1, group)
				config := acctest.With(s.config("", "team=a:NoSchedule", map[string]any{"strategy": "rolling"}), map[string]any{"name": nil, "selector": "group=gpu"})
				older, newer := newInstance(), newInstance()
				s.apply(older, config)
				s.c.Change(t, left.Thing, "somebody", `{"metadata":{"labels":{"group":"cpu"}}}`)
				machines := strings.Join(p.Names(), " ")

				plans := s.tf.Walk(t)
				create, destroyed := plans.Plan(newer, config), plans.Plan(older, nil)
				if d := append(create.Diagnostics, destroyed.Diagnostics...); d.Errors() != "" || strings.Contains(d.Warnings(), p.Name+"\": at most") {
					t.Fatalf("nothing happens to the machines of %s: %s%s", p.Name, d.Errors(), d.Warnings())
				}
				applies := s.tf.Walk(t)
				carry := func(i *acctest.Instance, planned acctest.Planned, config map[string]any) {
					if d := applies.ApplyChange(i, planned, config); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
					p.Want(2, foreign+" team=a:NoSchedule")
				}
				if createFirst {
					carry(newer, create, config)
					carry(older, destroyed, nil)
				} else {
					carry(older, destroyed, nil)
					carry(newer, create, config)
				}
				if now := strings.Join(p.Names(), " "); now != machines {
					t.Fatalf("the machines were %s and are %s", machines, now)
				}
				left.Want(1, foreign)
				if again := s.tf.Plan(t, newer, config); !again.Empty {
					t.Fatal("the plan of the heir is not empty")
				}
				s.apply(newer, nil)
				p.Want(2, foreign)
			})
		})
	}
}
