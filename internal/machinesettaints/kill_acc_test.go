// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// hcl is a configuration of one MachineSet, empty for no taints.
func (s *stage) hcl(name, value, rollout string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("resource \"kubetaint_machine_set_taints\" \"this\" {\n  namespace = %q\n  name = %q\n  taints = [{ key = \"team\", value = %q, effect = \"NoSchedule\" }]\n  rollout = { %s }\n  timeouts = { create = \"2m\", update = \"2m\", delete = \"2m\" }\n}\n",
		s.namespace, name, value, rollout)
}

// TestAccMachineSetTaints_kill9AfterEachWrite kills the real provider process under a
// real command line after each single write of a create and a destroy with each
// strategy, and runs the same apply again. The plan in between says what was
// interrupted, the count is never lost, and no replacement that was made is repeated.
// An update is killed after each request, reads included, in kill9AfterEachRequest.
func TestAccMachineSetTaints_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout string
		// machines are made for a change of two, at most.
		machines int
	}{
		"in_place":      {`strategy = "in_place"`, 0},
		"rolling":       {`strategy = "rolling"`, 2},
		"surge":         {`strategy = "surge"`, 3},
		"scale_to_zero": {`strategy = "scale_to_zero"`, 2},
	} {
		for step, values := range map[string][2]string{"create": {"", "a"}, "destroy": {"b", ""}} {
			t.Run(name+"/"+step, func(t *testing.T) {
				t.Parallel()
				s := newStage(t)
				kills := 0
				for writes := 1; ; writes++ {
					p := s.c.MachineSet(t, acctest.MachineSet{Namespace: s.namespace, Name: acctest.Name(t, "ms"), Replicas: 2, Taints: foreign})
					cli := acctest.NewCLI(t)
					cli.Write(s.c.Provider(t), s.hcl(p.Name, values[0], tt.rollout))
					cli.MustRun("apply", "-auto-approve", "-input=false")
					before := p.Made()
					proxy := s.c.Proxy(t)
					cli.Write(proxy.Provider(t, s.c), s.hcl(p.Name, values[1], tt.rollout))
					cli.MustRun("plan", "-input=false", "-out=plan")
					if !cli.ApplyAndKill(proxy, acctest.Request.Write, writes) {
						break
					}
					kills++
					if p.Annotation("kubetaint.io/rollout") != "" {
						if out := cli.MustRun("plan", "-input=false", "-no-color"); !strings.Contains(out, "is interrupted, and apply goes on with it") || !strings.Contains(out, "spec.replicas is 2 at the end") {
							t.Fatalf("killed after write %d, and the plan does not say that a rollout is interrupted:\n%s", writes, out)
						}
					}
					cli.MustRun("apply", "-auto-approve", "-input=false")
					want := foreign
					if values[1] != "" {
						want += " team=" + values[1] + ":NoSchedule"
					}
					p.Want(2, want)
					cli.WantEmptyPlan()
					if made := p.Made() - before; made > tt.machines {
						t.Fatalf("killed after write %d: %d machines were made, and at most %d are needed", writes, made, tt.machines)
					}
				}
				if kills < 2 {
					t.Fatalf("the apply was killed only %d times", kills)
				}
				t.Logf("killed %d times", kills)
			})
		}
	}
}
