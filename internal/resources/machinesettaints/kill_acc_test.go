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
	return fmt.Sprintf("resource \"kubetaint_machine_set_taints\" \"this\" {\n  namespace = %q\n  name = %q\n  taints = [{ key = \"team\", value = %q, effect = \"NoSchedule\" }]\n  rollout = { %s }\n  timeouts = { create = \"10m\", update = \"10m\", delete = \"10m\" }\n}\n",
		s.namespace, name, value, rollout)
}

// TestAccMachineSetTaints_kill9AfterEachWrite kills the real provider process under a
// real command line after each single write of a create and a destroy with each
// strategy, and runs the same apply again. The plan in between reports what was
// interrupted, the count is never lost, and no replacement that was made is repeated.
// An update is killed between its writes as well in kill9AfterEachRequest.
func TestAccMachineSetTaints_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout string
		// machines are made for a change of two, at most.
		machines int
	}{
		"template_only":         {`strategy = "template_only"`, 0},
		"in_place":              {`strategy = "in_place"`, 0},
		"rolling":               {`strategy = "rolling"`, 2},
		"surge":                 {`strategy = "surge"`, 3},
		"scale_to_zero":         {`strategy = "scale_to_zero"`, 2},
		"scale_to_zero_removed": {`strategy = "scale_to_zero", wait_for = "removed"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			k := &writeKilling{stage: s, Pool: s.c.MachineSet(t, acctest.MachineSet{Namespace: s.namespace, Name: acctest.Name(t, "ms"), Replicas: 2, Taints: foreign}), cli: acctest.NewCLI(t), rollout: tt.rollout, machines: tt.machines}
			// The template alone is one write, and no rollout.
			least, interrupted := acctest.MinKills(2), 1
			if name == "template_only" {
				least, interrupted = 1, 0
			}
			created, destroyed := 0, 0
			for writes := range acctest.Kills(1 + interrupted) {
				more := false
				if k.change("a", writes) {
					created, more = created+1, true
				}
				if !acctest.All() {
					destroyed = least
					break
				}
				if k.change("", writes) {
					destroyed, more = destroyed+1, true
				}
				if !more {
					break
				}
			}
			if created < least || destroyed < least || k.interrupted < interrupted {
				t.Fatalf("the create was killed only %d times, the destroy %d, %d of them in the middle of a rollout", created, destroyed, k.interrupted)
			}
			t.Logf("the create was killed %d times, the destroy %d", created, destroyed)
		})
	}
}

// saysInterrupted reports whether a plan tells of a rollout that goes on.
func saysInterrupted(plan string) bool {
	plan = acctest.Unfold(plan)
	return strings.Contains(plan, "Apply continues an interrupted rollout of MachineSet") &&
		strings.Contains(plan, "spec.replicas is 2 at the end") != strings.Contains(plan, "does not change spec.replicas")
}

// writeKilling creates and destroys the taint of a MachineSet repeatedly.
type writeKilling struct {
	*stage
	*acctest.Pool
	cli     *acctest.CLI
	rollout string
	// machines are made for one change, at most.
	machines int
	// interrupted counts the kills that left a rollout.
	interrupted int
}

// change brings the taint to a value, "" for none, and kills the apply after a number
// of writes; false where it ends before that.
func (k *writeKilling) change(value string, writes int) (killed bool) {
	k.Helper()
	before, proxy := k.Made(), k.c.Proxy(k.T)
	k.cli.Write(proxy.Provider(k.T, k.c), k.hcl(k.Name, value, k.rollout))
	k.cli.MustRun("plan", "-input=false", "-out=plan")
	if killed = k.cli.ApplyAndKill(proxy, acctest.Request.Write, writes); killed {
		interrupted := k.Annotation("kubetaint.io/rollout") != ""
		out := k.cli.MustRun("apply", "-auto-approve", "-input=false", "-no-color")
		if interrupted {
			k.interrupted++
		}
		if interrupted && !saysInterrupted(out) {
			k.Fatalf("killed after write %d, and the plan does not say that a rollout is interrupted:\n%s", writes, out)
		}
	}
	want := foreign
	if value != "" {
		want += " team=" + value + ":NoSchedule"
	}
	if strings.Contains(k.rollout, "template_only") {
		k.WantTemplate(2, want)
	} else {
		k.Want(2, want)
	}
	k.cli.WantEmptyPlan()
	if made := k.Made() - before; made > k.machines {
		k.Fatalf("killed after write %d: %d machines were made, and at most %d are needed", writes, made, k.machines)
	}
	return killed
}
