// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestMachineSetTaints_whatIsStillItsOwnGoes has taints outlive the configuration that named
// them: what the resource has not given up goes with a later apply.
func TestMachineSetTaints_whatIsStillItsOwnGoes(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(s *leftStage){
		"of a state without held marks": func(s *leftStage) {
			s.apply(s.i, s.config("crew=a:NoSchedule", "template_only"))
			s.i.Private = acctest.ReplacePrivate(s.T, s.i.Private, `"held":`, `"dropped":`)
			s.i.Private = acctest.ReplacePrivate(s.T, s.i.Private, `"epoch":`, `"counted":`)
			before := s.c.Look(s.T, s.set).GetResourceVersion()
			if planned := s.tf.Plan(s.T, s.i, s.config("crew=a:NoSchedule", "template_only")); !planned.Empty {
				s.Errorf("something is planned for it: %s", planned.Diagnostics.Warnings())
			}
			if after := s.c.Look(s.T, s.set).GetResourceVersion(); after != before {
				s.Error("the MachineSet is written for it")
			}
		},
		"after several applies that left it where it is": func(s *leftStage) {
			for _, taints := range []string{"crew=a:NoSchedule", "crew=b:NoSchedule", "spot=a:NoSchedule"} {
				s.apply(s.i, s.config(taints, "template_only"))
			}
		},
		"after an apply whose state was not saved, and another one": func(s *leftStage) {
			s.killed(s.config("crew=a:NoSchedule", "template_only"))
			s.apply(s.i, s.config("crew=b:NoSchedule", "template_only"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onLeftStage(t, func(t *testing.T, s *leftStage) {
				leave(s)
				written := s.record()
				if written == "" {
					t.Fatal("nothing is recorded")
				}
				s.apply(s.i, s.config("crew=c:NoSchedule", "template_only"))
				s.apply(s.i, s.config("crew=c:NoSchedule", "in_place"))
				s.want("crew=c:NoSchedule", "crew=c:NoSchedule")
				if left := s.record(); left != "" {
					t.Errorf("the record is left: %s", left)
				}
			})
		})
	}
}
