// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// TestAccMachineSetTaints_interruptedByHand sends SIGINT to the real command line in
// the middle of a rollout, as Ctrl-C does. Terraform waits for the provider: a set at
// zero gets its count back, a surge keeps its extra machine, and the others stop before
// the next machine. Each is told, and the next apply goes on.
func TestAccMachineSetTaints_interruptedByHand(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout string
		// cloud is what holds things as they are when Ctrl-C comes, until it is let go.
		cloud string
		// writes are those that reach the cluster before: what comes after them is held
		// until Terraform has ended, unless it is the count.
		writes int64
		// when is how many machines there are, and how many that are not being deleted,
		// when Ctrl-C comes.
		when [2]int
		// replicas are found afterwards, and how many of three machines are as they were.
		replicas, left int
		says           []string
	}{
		"in_place": {`strategy = "in_place"`, `{}`, 2, [2]int{3, 3}, 3, 2, nil},
		"rolling":  {`strategy = "rolling"`, `{"quota":0,"deleteError":"held"}`, 2, [2]int{4, 3}, 3, 2, []string{"the run was interrupted"}},
		"surge":    {`strategy = "surge"`, `{"quota":0}`, 1, [2]int{4, 4}, 4, 3, []string{"the run was interrupted"}},
		"scale_to_zero": {`strategy = "scale_to_zero", wait_for = "removed"`, `{"deleteError":"held"}`, 1, [2]int{3, 0}, 3, 0,
			[]string{"the run was interrupted", "spec.replicas has been restored to 3."}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(3, func(m *acctest.MachineSet) { m.Spare = tt.when[0] - 3 })
			p.ChangeCloud(tt.cloud)
			before := p.Names()
			cli, proxy := acctest.NewCLI(t), s.c.Proxy(t)
			proxy.InTurn()
			cli.Write(proxy.Provider(t, s.c), s.hcl(p.Name, "a", tt.rollout))
			cli.MustRun("plan", "-input=false", "-out=plan")
			out := interrupt(t, cli, proxy, tt.writes, strings.Contains(tt.rollout, "scale_to_zero"), func() {
				acctest.Until(t, "the cluster has followed", func(context.Context) (bool, error) {
					all, live := p.Machines(), 0
					for _, m := range all {
						if m.DeletionTimestamp == nil {
							live++
						}
					}
					// No count has a machine that is being deleted.
					return len(all) == tt.when[0] && live == tt.when[1] && (live > 0 || p.Counted() == 0), nil
				})
			})
			acctest.WantAll(s.T, acctest.Unfold(out), append(tt.says, "Interrupt received", "Unable to create taints of MachineSet", "Apply again: the rollout continues where it stopped.")...)
			if got := p.Replicas(); got != tt.replicas || p.Annotation("kubetaint.io/rollout") == "" {
				t.Fatalf("the count is %d and the marker %q:\n%s", got, p.Annotation("kubetaint.io/rollout"), out)
			}
			left, machines := 0, p.Machines()
			for _, name := range before {
				if m, there := machines[name]; there && m.DeletionTimestamp == nil && len(m.Spec.Taints) == 1 {
					left++
				}
			}
			if left != tt.left {
				t.Fatalf("%d of 3 machines are as they were, want %d:\n%s", left, tt.left, out)
			}
			p.ChangeCloud(`{"quota":null,"deleteError":null}`)
			acctest.WantAll(s.T, acctest.Unfold(cli.MustRun("plan", "-input=false", "-no-color")), "Apply continues an interrupted rollout of MachineSet", replicasAtTheEnd(name))
			cli.MustRun("apply", "-auto-approve", "-input=false")
			p.Want(3, foreign+" team=a:NoSchedule")
			cli.WantEmptyPlan()
		})
	}
}

// TestAccMachineSetTaints_interruptedBeforeTheAnswer: the patch that scales to zero is
// carried out, and its answer never comes, nor has a watch told of it. The count is
// brought back all the same.
func TestAccMachineSetTaints_interruptedBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(2, nil)
	cli, proxy := acctest.NewCLI(t), s.c.Proxy(t)
	proxy.InTurn()
	cli.Write(proxy.Provider(t, s.c), s.hcl(p.Name, "a", `strategy = "scale_to_zero"`))
	cli.MustRun("plan", "-input=false", "-out=plan")
	run := newInterruption(cli)
	asked, ask := make(chan struct{}), sync.Once{}
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		switch {
		case r.Watch && r.Base() == "machinesets":
			<-run.over
			return acctest.CutBefore
		case run.begun() && r.Method == http.MethodGet && r.Base() == p.Name:
			ask.Do(func() { close(asked) })
		}
		return acctest.None
	})
	proxy.After(func(r acctest.Request) {
		if r.Written() && !run.begun() {
			close(run.reached)
			select {
			case <-asked:
			case <-run.over:
			}
		}
	})
	out := run.carryOut(t)
	acctest.WantAll(s.T, acctest.Unfold(out), "the run was interrupted", "spec.replicas has been restored to 2.")
	if got := p.Replicas(); got != 2 {
		t.Fatalf("the count is %d:\n%s", got, out)
	}
	cli.MustRun("apply", "-auto-approve", "-input=false")
	p.Want(2, foreign+" team=a:NoSchedule")
}

// interrupt carries out the saved plan and sends SIGINT once so many writes have been
// carried out, which go in turn, and returns what it prints. Later writes never reach the API server unless
// they are let through: they are held until Terraform has ended.
func interrupt(t *testing.T, cli *acctest.CLI, proxy *acctest.Proxy, writes int64, later bool, when func()) string {
	t.Helper()
	run := newInterruption(cli)
	run.when = when
	var written atomic.Int64
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if !r.Write() || written.Load() < writes || later {
			return acctest.None
		}
		<-run.over
		return acctest.CutBefore
	})
	proxy.After(func(r acctest.Request) {
		if r.Written() && written.Add(1) == writes {
			close(run.reached)
		}
	})
	defer proxy.After(nil)
	defer proxy.Spoil(nil)
	return run.carryOut(t)
}

// interruption is an apply that is interrupted when reached is closed. It closes over
// when it has ended.
type interruption struct {
	apply         *exec.Cmd
	reached, over chan struct{}
	// when returns once what is interrupted is as desired then, nil for immediately.
	when func()
}

func newInterruption(cli *acctest.CLI) *interruption {
	return &interruption{apply: cli.Command("apply", "-input=false", "-no-color", "plan"), reached: make(chan struct{}), over: make(chan struct{})}
}

// begun reports that the moment has come.
func (i *interruption) begun() bool {
	select {
	case <-i.reached:
		return true
	default:
		return false
	}
}

func (i *interruption) carryOut(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	i.apply.Stdout, i.apply.Stderr = &out, &out
	if err := i.apply.Start(); err != nil {
		t.Fatal(err)
	}
	over := sync.OnceFunc(func() { close(i.over) })
	// Otherwise a waiting caller would wait forever.
	defer over()
	ended := make(chan error, 1)
	go func() { ended <- i.apply.Wait() }()
	var err error
	select {
	case <-i.reached:
		if i.when != nil {
			i.when()
		}
		_ = i.apply.Process.Signal(os.Interrupt)
		err = <-ended
	case err = <-ended:
	}
	over()
	if err == nil {
		t.Fatalf("the apply ended before it was interrupted:\n%s", out.String())
	}
	return out.String()
}

func replicasAtTheEnd(strategy string) string {
	if strategy == "surge" || strategy == "scale_to_zero" {
		return "spec.replicas is 3 at the end"
	}
	return "does not change spec.replicas"
}
