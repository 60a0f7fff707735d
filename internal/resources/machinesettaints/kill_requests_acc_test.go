// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_kill9AfterEachRequest kills the real provider process under
// a real command line after the first request of an apply that changes a taint, and after
// each one from the first write on, and
// runs the same apply again. The plan in between reports what was interrupted; a kill
// before the first write leaves everything as it was.
func TestAccMachineSetTaints_kill9AfterEachRequest(t *testing.T) {
	t.Parallel()
	acctest.Exhaustive(t)
	for name, tt := range map[string]struct {
		rollout string
		// machines are made for one change, at most.
		machines int
	}{
		"in_place":      {`strategy = "in_place"`, 0},
		"rolling":       {`strategy = "rolling"`, 2},
		"surge":         {`strategy = "surge"`, 3},
		"scale_to_zero": {`strategy = "scale_to_zero"`, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(2, nil)
			k := &killing{stage: s, Pool: p, cli: acctest.NewCLI(t), proxy: s.c.Proxy(t), rollout: tt.rollout, value: "a"}
			k.cli.Write(s.c.Provider(t), s.hcl(p.Name, k.value, tt.rollout))
			k.cli.MustRun("apply", "-auto-approve", "-input=false")
			for counts, after := range acctest.KillPoints(1, 1) {
				before := p.Made()
				if !k.change(counts, after) {
					break
				}
				if made := p.Made() - before; made > tt.machines {
					t.Fatalf("killed after request %d: %d machines were made, and at most %d are needed", after, made, tt.machines)
				}
			}
			p.Want(2, foreign+" team="+k.other()+":NoSchedule")
			if k.untouched != 1 || k.interrupted < 3 {
				t.Fatalf("the apply was killed %d times before its first write, %d times in the middle", k.untouched, k.interrupted)
			}
			t.Logf("killed %d times before the first write, %d times in the middle of the rollout, %d times after it", k.untouched, k.interrupted, k.after)
		})
	}
}

// killing changes the taint of a MachineSet from one value to another,
// repeatedly.
type killing struct {
	*stage
	*acctest.Pool
	cli     *acctest.CLI
	proxy   *acctest.Proxy
	rollout string
	// value is the one that everything has now.
	value string
	// planned is the state for which the saved plan was made that has yet to be
	// carried out, nil for none.
	planned []byte
	// untouched, interrupted and after count what was found after a kill.
	untouched, interrupted, after int
}

func (k *killing) other() string {
	return map[string]string{"a": "b", "b": "a"}[k.value]
}

// change makes one change and kills it after a number of the requests that count; false
// where the apply ends before that.
func (k *killing) change(counts func(acctest.Request) bool, after int) bool {
	k.Helper()
	if k.planned == nil {
		k.cli.Write(k.proxy.Provider(k.T, k.c), k.hcl(k.Name, k.other(), k.rollout))
		k.cli.MustRun("plan", "-input=false", "-out=plan")
		k.planned = k.cli.State()
	}
	if !k.cli.ApplyAndKill(k.proxy, counts, after) {
		return false
	}
	was, is := foreign+" team="+k.value+":NoSchedule", foreign+" team="+k.other()+":NoSchedule"
	interrupted := k.Annotation("kubetaint.io/rollout") != ""
	switch {
	case interrupted:
		k.interrupted++
	case k.Template() == k.Sorted(was):
		// Nothing has been written: the same plan is carried out again. Terraform has
		// counted a change of the state in which nothing changed.
		k.cli.SetState(k.planned)
		k.untouched++
		k.Want(2, was)
		return true
	default:
		k.after++
	}
	out := k.cli.MustRun("apply", "-auto-approve", "-input=false", "-no-color")
	if interrupted && !saysInterrupted(out) {
		k.Fatalf("killed after request %d, and the plan does not say that a rollout is interrupted:\n%s", after, out)
	}
	k.Want(2, is)
	k.cli.WantEmptyPlan()
	k.value, k.planned = k.other(), nil
	return true
}
