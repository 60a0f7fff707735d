// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_whatIsLostWithoutARight takes single rights away from the
// documented role. Without those to watch it goes through by lists, more slowly; each
// other one is needed, its absence is told, and with all rights the apply goes on.
func TestAccMachineSetTaints_whatIsLostWithoutARight(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	for name, tt := range map[string]struct {
		resource string
		verbs    []string
		strategy string
		// planned is what the plan warns of, fails whether the apply does.
		planned string
		fails   bool
	}{
		"list of machinesets":  {"machinesets", []string{"list", "watch"}, "in_place", "Unable to preview evictions on MachineSet", true},
		"watch of machinesets": {"machinesets", []string{"watch"}, "surge", "", false},
		"get of machinesets":   {"machinesets", []string{"get"}, "surge", "", true},
		"patch of machinesets": {"machinesets", []string{"patch"}, "template_only", "", true},
		"list of machines":     {"machines", []string{"list", "watch"}, "in_place", "Unable to preview evictions on MachineSet", true},
		"watch of machines":    {"machines", []string{"watch"}, "rolling", "", false},
		"get of machines":      {"machines", []string{"get"}, "rolling", "", true},
		"patch of machines":    {"machines", []string{"patch"}, "in_place", "", true},
		"patch for a surge":    {"machines", []string{"patch"}, "surge", "", true},
		"delete of machines":   {"machines", []string{"delete"}, "rolling", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			// A machine that is gone when its deletion is answered is not read once more.
			p, i := s.pool(1, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"deleteDelay": "1s"} }), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
			proxy := s.c.Proxy(t)
			proxy.InTurn()
			provider := acctest.With(proxy.Provider(t, s.c), map[string]any{"token": s.c.TokenWith(t, acctest.Without(s.c.Rights(t), tt.resource, tt.verbs...)...)})
			tf := &acctest.Terraform{Provider: provider}
			planned := tf.Plan(t, i, config)
			if planned.Diagnostics.Errors() != "" {
				t.Fatal(planned.Diagnostics.Errors())
			}
			if tt.planned != "" {
				acctest.WantAll(s.T, planned.Diagnostics.Warnings(), tt.planned, `The guide "Permissions" of the provider's documentation lists it`)
			}
			// After a conflict it must be read again.
			proxy.BeforeWrite(0, func(acctest.Request) {
				s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"somebody":"was here"}}}`)
			})
			errors := tf.Carry(t, i, planned, config).Errors()
			if tt.fails {
				acctest.WantAll(s.T, errors, "no permission", `"Permissions"`)
				s.apply(i, config)
			} else if errors != "" {
				t.Fatal(errors)
			}
			if tt.strategy == "template_only" {
				p.WantTemplate(1, foreign+" team=a:NoSchedule")
			} else {
				p.Want(1, foreign+" team=a:NoSchedule")
			}
		})
	}
}
