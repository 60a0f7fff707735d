// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset_test

import (
	"fmt"
	"regexp"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

const (
	invoke  = "-invoke=action.kubetaint_cycle_machine_set.this"
	foreign = "vendor=x:NoSchedule"
)

// stage is a namespace with the Machine API, and a command line.
type stage struct {
	*testing.T
	c         *acctest.Cluster
	cli       *acctest.CLI
	namespace string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	c := acctest.Connect(t)
	c.NeedMachines(t)
	s := &stage{T: t, c: c, cli: acctest.NewCLI(t), namespace: c.Namespace(t)}
	s.cli.NeedTerraform(14)
	return s
}

func (s *stage) pool(replicas, spare int) *acctest.Pool {
	s.Helper()
	return s.c.MachineSet(s.T, acctest.MachineSet{Namespace: s.namespace, Name: acctest.Name(s.T, "ms"), Replicas: replicas, Spare: spare, Taints: foreign})
}

// hcl is a configuration of the action; more goes into its block.
func (s *stage) hcl(name, rollout, more string) string {
	return fmt.Sprintf("action \"kubetaint_cycle_machine_set\" \"this\" {\n  config {\n    namespace = %q\n    name = %q\n    rollout = { %s }\n    %s\n  }\n}\n", s.namespace, name, rollout, more)
}

// says expects that what a command printed has all parts.
func (s *stage) says(text string, parts ...string) {
	s.Helper()
	acctest.WantAll(s.T, acctest.Unfold(text), parts...)
}

// replaced expects that none of these machines is left.
func (s *stage) replaced(p *acctest.Pool, before []string) {
	s.Helper()
	for _, name := range p.Names() {
		if slices.Contains(before, name) {
			s.Fatalf("%s has not been replaced", name)
		}
	}
}

// TestAccCycleMachineSet_strategies replaces all machines with each strategy, by a real
// command line, and tells its progress.
func TestAccCycleMachineSet_strategies(t *testing.T) {
	t.Parallel()
	const machines = 3
	for name, tt := range map[string]struct {
		rollout string
		least   int
		spare   int
		says    []string
	}{
		"rolling":       {`strategy = "rolling"`, machines - 1, 0, []string{"deleting", "3 of 3 machines are left to replace"}},
		"surge":         {`strategy = "surge", max_surge = 2`, machines, 2, []string{"scaling to 5 machines", "scaling to 3 machines", "choosing"}},
		"scale_to_zero": {`strategy = "scale_to_zero"`, 0, 0, []string{"scaling to 0 machines", "scaling to 3 machines"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(machines, tt.spare)
			s.cli.Write(s.c.Provider(t), s.hcl(p.Name, tt.rollout, ""))
			before, least := p.Names(), p.Least()
			out := s.cli.MustRun("apply", "-auto-approve", "-input=false", invoke)
			if got := least(); got < tt.least {
				t.Fatalf("%d machines served at some moment, want %d", got, tt.least)
			}
			s.says(out, append(tt.says, "Replacing 3 machines of MachineSet", "replacing 3 machines of MachineSet", "waiting for machines: ", "all machines of MachineSet \""+s.namespace+"/"+p.Name+"\" are replaced")...)
			p.Want(machines, foreign)
			s.replaced(p, before)
		})
	}
}

// TestAccCycleMachineSet_kill9AfterEachWrite kills the real provider process after each
// single write, and invokes the action again: the count is never lost, all machines
// that there were are replaced, and no finished replacement is repeated.
func TestAccCycleMachineSet_kill9AfterEachWrite(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rollout string
		// machines are made for a cycle of two, at most.
		machines int
		atTheEnd string
	}{
		"rolling":       {`strategy = "rolling"`, 2, "does not change spec.replicas"},
		"surge":         {`strategy = "surge"`, 3, "spec.replicas is 2 at the end"},
		"scale_to_zero": {`strategy = "scale_to_zero"`, 2, "spec.replicas is 2 at the end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			kills := 0
			for writes := range acctest.Kills(2) {
				p := s.pool(2, tt.machines-2)
				before := p.Names()
				proxy := s.c.Proxy(t)
				s.cli.Write(proxy.Provider(t, s.c), s.hcl(p.Name, tt.rollout, ""))
				s.cli.MustRun("plan", "-input=false", "-out=plan", invoke)
				if !s.cli.ApplyAndKill(proxy, acctest.Request.Write, writes) {
					break
				}
				kills++
				if p.Annotation("kubetaint.io/rollout") == "" {
					// It was the last write: all is done, and another invocation would be
					// another cycle.
					p.Want(2, foreign)
					s.replaced(p, before)
					continue
				}
				s.says(s.cli.MustRun("plan", "-input=false", invoke), "The action continues an interrupted rollout of MachineSet", tt.atTheEnd)
				s.says(s.cli.MustRun("apply", "-auto-approve", "-input=false", invoke), "continuing the rollout of MachineSet")
				p.Want(2, foreign)
				s.replaced(p, before)
				if made := p.Made() - 2; made > tt.machines {
					t.Fatalf("killed after write %d: %d machines were made, and at most %d are needed", writes, made, tt.machines)
				}
			}
			if kills < acctest.MinKills(2) {
				t.Fatalf("the action was killed only %d times", kills)
			}
			t.Logf("killed %d times", kills)
		})
	}
}

// TestAccCycleMachineSet_budget is checked at plan, and again right before the first
// write.
func TestAccCycleMachineSet_budget(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, 0)
	apps := s.c.Namespace(t)
	before := p.Names()
	s.cli.Write(s.c.Provider(t), s.hcl(p.Name, `strategy = "rolling"`, fmt.Sprintf("evictions = { protected_namespaces = [%q] }", apps)))
	s.cli.MustRun("plan", "-input=false", "-out=plan", invoke)
	s.c.Deployment(t, apps, "web", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name}
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	s.c.Running(t, apps, "web", 1)
	want := []string{`Unable to replace 1 machine of MachineSet "` + s.namespace + "/" + p.Name + `": 1 pod of protected namespaces would be evicted`, "protected namespaces would be evicted: " + apps + "/web-", "Nothing has been written.", "Tolerations do not keep these pods", "protected_namespaces in evictions"}
	for _, args := range [][]string{{"plan", "-input=false", invoke}, {"apply", "-input=false", "plan"}} {
		out, ok := s.cli.Run(args...)
		if ok {
			t.Fatalf("%v was not refused:\n%s", args, out)
		}
		s.says(out, want...)
	}
	if got := p.Names(); !slices.Equal(got, before) || p.Annotation("kubetaint.io/rollout") != "" {
		t.Fatalf("the machines were %v and are %v, and the marker is %q", before, got, p.Annotation("kubetaint.io/rollout"))
	}
	s.cli.Write(s.c.Provider(t), s.hcl(p.Name, `strategy = "rolling"`, "evictions = { max_pods = 50 }"))
	out := s.cli.MustRun("apply", "-auto-approve", "-input=false", invoke)
	s.says(out, "Replacing 1 machine of MachineSet", "evicts 1 pod", "Deployment "+apps+"/web")
	p.Want(1, foreign)
	s.replaced(p, before)
}

// TestAccCycleMachineSet_timeoutGoesOnLater reports what holds the drain, and the next
// invocation replaces what is left.
func TestAccCycleMachineSet_timeoutGoesOnLater(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(2, 0)
	before := p.Names()
	apps := s.c.Namespace(t)
	// It holds the machine that goes first: the time is short for replacing another one
	// before that.
	first := p.Machines()[before[0]].Status.NodeRef.Name
	s.c.Deployment(t, apps, "db", 1, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"pool": p.Name, corev1.LabelHostname: first}
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	s.c.Running(t, apps, "db", 1)
	letGo := s.c.Budget(t, apps, "strict", "db")
	inTime := func(limit string) string {
		t.Helper()
		s.cli.Write(s.c.Provider(t), s.hcl(p.Name, `strategy = "rolling"`, fmt.Sprintf("timeout = %q", limit)))
		out, ok := s.cli.Run("apply", "-auto-approve", "-input=false", invoke)
		if ok {
			t.Fatalf("it did not end:\n%s", out)
		}
		return out
	}
	progress := regexp.MustCompile(`waiting for machines: .*PodDisruptionBudget "` + apps + `/strict"`)
	out := inTime("15s")
	s.says(out, "Draining machines of MachineSet", "gets stuck on PodDisruptionBudgets", "allows no eviction even when all of its pods are healthy", "Missing capacity:")
	if !progress.MatchString(acctest.Unfold(out)) {
		// A busy machine may not have come that far: it goes on from there.
		out = inTime("60s")
	}
	s.says(out, "the rollout timed out", "The rollout last waited for machines", `is held by PodDisruptionBudget "`+apps+`/strict"`, "Invoke the action again: it continues where it stopped")
	if !progress.MatchString(acctest.Unfold(out)) {
		t.Fatalf("no progress tells what holds the drain:\n%s", out)
	}
	letGo()
	s.cli.Write(s.c.Provider(t), s.hcl(p.Name, `strategy = "rolling"`, ""))
	s.cli.MustRun("apply", "-auto-approve", "-input=false", invoke)
	p.Want(2, foreign)
	s.replaced(p, before)
	if made := p.Made() - 2; made > 2 {
		t.Fatalf("%d machines were made for two", made)
	}
}
