// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// newInstance returns an instance that is not created yet.
func newInstance() *acctest.Instance {
	return &acctest.Instance{Type: "kubetaint_machine_set_taints"}
}

// stage is a namespace with the Machine API, and a provider.
type stage struct {
	*testing.T
	c         *acctest.Cluster
	tf        *acctest.Terraform
	namespace string
	// shown waits until the provider that is disturbed has been told of a text.
	shown func(text string)
}

// oneStrategy leaves out the other strategies where "make test-all" does not run: what is
// shown is the same for each, and each has tests of its own.
func oneStrategy(t *testing.T, strategy string) {
	t.Helper()
	if strategy != "rolling" {
		acctest.Exhaustive(t)
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	return stageOn(t, acctest.Connect(t))
}

// onFake runs a test on an in-memory API server with the small controllers of the Machine
// API. What the real ones decide, and how they go about it, is shown by none of these.
func onFake(t *testing.T, test func(t *testing.T, s *stage)) {
	t.Helper()
	acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) { test(t, stageOn(t, c)) }, controllers.MachineAPI...)
}

func stageOn(t *testing.T, c *acctest.Cluster) *stage {
	t.Helper()
	c.NeedMachines(t)
	return &stage{T: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, namespace: c.Namespace(t)}
}

// config wants taints of a MachineSet.
func (s *stage) config(name, taints string, rollout map[string]any) map[string]any {
	return map[string]any{"namespace": s.namespace, "name": name, "taints": acctest.Objects(s.T, taints), "rollout": rollout}
}

// apply applies a configuration and then expects that a plan is empty.
func (s *stage) apply(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
	s.Helper()
	if config == nil {
		return s.tf.Destroy(s.T, i)
	}
	return s.tf.Settle(s.T, i, config)
}

// strategies are all that reach machines which exist; least is how many of n serve
// at every moment.
var strategies = map[string]struct {
	rollout  map[string]any
	least    func(n int) int
	replaces bool
}{
	"in_place":              {map[string]any{"strategy": "in_place"}, func(n int) int { return n }, false},
	"rolling":               {map[string]any{"strategy": "rolling"}, func(n int) int { return n - 1 }, true},
	"rolling two at a time": {map[string]any{"strategy": "rolling", "max_unavailable": 2}, func(n int) int { return n - 2 }, true},
	"surge":                 {map[string]any{"strategy": "surge", "max_surge": 2}, func(n int) int { return n }, true},
	"scale_to_zero":         {map[string]any{"strategy": "scale_to_zero"}, func(int) int { return 0 }, true},
	"scale_to_zero removed": {map[string]any{"strategy": "scale_to_zero", "wait_for": "removed"}, func(int) int { return 0 }, true},
}

// added is how many machines a strategy adds for a while.
func added(rollout map[string]any) int {
	count, _ := rollout["max_surge"].(int)
	return count
}

const foreign = "vendor=x:NoSchedule"

// TestAccMachineSetTaints_strategies adds, changes and removes taints with each
// strategy.
func TestAccMachineSetTaints_strategies(t *testing.T) {
	t.Parallel()
	for name, tt := range strategies {
		for _, machines := range []int{1, 3} {
			t.Run(strings.ReplaceAll(name, " ", "_")+"/"+map[int]string{1: "one", 3: "three"}[machines], func(t *testing.T) {
				t.Parallel()
				if machines == 1 || name == "rolling two at a time" || name == "scale_to_zero removed" {
					acctest.Exhaustive(t)
				}
				s := newStage(t)
				p := s.pool(machines, func(m *acctest.MachineSet) { m.Spare = added(tt.rollout) })
				i, beside := newInstance(), p.Beside()
				for _, taints := range []string{"team=a:NoSchedule", "team=b:NoSchedule spot:PreferNoSchedule", "team=b:NoExecute", ""} {
					before, least := p.Names(), p.Least()
					config := s.config(p.Name, taints, tt.rollout)
					if taints == "" {
						config = nil
					}
					s.apply(i, config)
					if got, want := least(), max(tt.least(machines), 0); got < want {
						t.Fatalf("%q: %d machines served at some moment, want %d", taints, got, want)
					}
					p.Want(machines, foreign+" "+taints)
					if got := p.Beside(); got != beside {
						t.Fatalf("%q: the rest of the MachineSet was %s and is %s", taints, beside, got)
					}
					same := strings.Join(before, " ") == strings.Join(p.Names(), " ")
					if same == tt.replaces {
						t.Fatalf("%q: the machines were %v and are %v", taints, before, p.Names())
					}
				}
			})
		}
	}
}

// TestAccMachineSetTaints_templateOnlyChangesNoMachine, whether a taint comes,
// changes or goes.
func TestAccMachineSetTaints_templateOnlyChangesNoMachine(t *testing.T) {
	t.Parallel()
	for _, machines := range []int{1, 3} {
		t.Run(map[int]string{1: "one", 3: "three"}[machines], func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p := s.pool(machines, nil)
			before := p.Names()
			i := newInstance()
			for _, value := range []string{"a", "b"} {
				s.apply(i, s.config(p.Name, "team="+value+":NoSchedule", map[string]any{"strategy": "template_only"}))
				if got := p.Template(); got != "team="+value+":NoSchedule, vendor=x:NoSchedule" {
					t.Fatalf("the template has %q", got)
				}
				if got := p.Names(); !slices.Equal(got, before) {
					t.Fatalf("the machines were %v and are %v", before, got)
				}
				told, _ := s.tf.Attributes(t, i)["machines"].(map[string]any)
				for _, name := range before {
					if told[name] != "missing" {
						t.Fatalf("machine %s is told as %v, want missing", name, told[name])
					}
				}
			}
			s.apply(i, nil)
			p.Want(machines, foreign)
		})
	}
}

// TestAccMachineSetTaints_whatTemplateOnlyLeavesIsRemovedLater by a strategy that changes
// machines, and nodelink does not put it back. Meanwhile a plan of the same taints in other words is empty.
func TestAccMachineSetTaints_whatTemplateOnlyLeavesIsRemovedLater(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	inPlace := map[string]any{"strategy": "in_place"}
	s.leave(p, i)
	empty := acctest.With(s.config(p.Name, "", templateOnly), map[string]any{"taints": []any{map[string]any{"key": "crew", "value": "", "effect": "NoSchedule"}}})
	if planned := s.tf.Plan(t, i, empty); !planned.Empty {
		t.Error("an empty value in place of none is planned as a change")
	}
	s.apply(i, s.config(p.Name, "crew:NoSchedule", inPlace))
	p.Want(2, foreign+" crew:NoSchedule")
	s.staysRemoved(p, `[{"key":"crew","effect":"NoSchedule"}]`)
}

// TestAccMachineSetTaints_whatTemplateOnlyLeavesIsDestroyed where the state has in_place: the apply with
// template_only was killed before its state was stored.
func TestAccMachineSetTaints_whatTemplateOnlyLeavesIsDestroyed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	before := s.leave(p, i)
	s.apply(&before, nil)
	p.Want(2, foreign)
	s.staysRemoved(p, `[]`)
}

// leave creates two taints in place, and takes one of them out of the template alone. It returns the instance of
// before that.
func (s *stage) leave(p *acctest.Pool, i *acctest.Instance) acctest.Instance {
	s.Helper()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule crew:NoSchedule", map[string]any{"strategy": "in_place"}))
	before := *i
	s.apply(i, s.config(p.Name, "crew:NoSchedule", templateOnly))
	if got := p.Template(); got != "crew:NoSchedule, vendor=x:NoSchedule" {
		s.Fatalf("the template has %q", got)
	}
	for _, m := range p.Machines() {
		if got := s.c.Taints(s.T, m.Status.NodeRef.Name); !strings.Contains(got, "team=a:NoSchedule") {
			s.Fatalf("template_only has changed node %s, which has %s", m.Status.NodeRef.Name, got)
		}
	}
	return before
}

// staysRemoved expects that nodelink, which looks at a node that changes and adds what the Machine has, adds
// what is foreign and nothing that template_only had left. The taints are what else the nodes have.
func (s *stage) staysRemoved(p *acctest.Pool, taints string) {
	s.Helper()
	for _, m := range p.Machines() {
		s.c.Patch(s.T, m.Status.NodeRef.Name, `{"metadata":{"labels":{"looked-at":"again"}},"spec":{"taints":`+taints+`}}`)
		acctest.Until(s.T, "nodelink has put back what the Machine has", func(context.Context) (bool, error) {
			return strings.Contains(s.c.Taints(s.T, m.Status.NodeRef.Name), foreign), nil
		})
		if got := s.c.Taints(s.T, m.Status.NodeRef.Name); strings.Contains(got, "team") {
			s.Errorf("node %s has %s", m.Status.NodeRef.Name, got)
		}
	}
}
