// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// reaching are the strategies that reach machines which exist.
var reaching = []string{"in_place", "rolling", "surge", "scale_to_zero"}

// disturbed applies a configuration, calls a function right before the second write,
// when the rollout has begun, and returns the errors.
func (s *stage) disturbed(i *acctest.Instance, config map[string]any, disturb func(acctest.Request)) string {
	s.Helper()
	return s.c.Disturbed(s.T, i, config, func(r acctest.Request, shown func(string)) {
		s.shown = shown
		disturb(r)
	})
}

// recreate makes a MachineSet anew while it is disturbed, and lets the provider know: one
// that has seen only that the old one is gone cannot report that there is another.
func (s *stage) recreate(p *acctest.Pool) {
	s.Helper()
	s.shown(p.Recreate())
}

// TestAccMachineSetTaints_aSetThatGoesInTheMiddle is deleted, or made anew, right
// before the second write of a rollout: an error says so, another MachineSet of its
// name is left alone, and the next plan is about what is there then.
func TestAccMachineSetTaints_aSetThatGoesInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, strategy := range reaching {
		t.Run(strategy+"/deleted", func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, strategy)
			s := newStage(t)
			p, i := s.pool(2, nil), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) { p.DeleteAndWait() }), "Unable to create taints of MachineSet", "is not there", "plan and apply again")
			acctest.WantAll(s.T, s.tf.Plan(t, i, config).Diagnostics.Errors(), "There is no MachineSet of this name")
		})
		t.Run(strategy+"/recreated", func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, strategy)
			s := newStage(t)
			p, i := s.pool(2, nil), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) { s.recreate(p) }), "Unable to create taints of MachineSet", "has been deleted and recreated", "Plan and apply again")
			p.Want(2, foreign)
			s.apply(i, config)
			p.Want(2, foreign+" team=a:NoSchedule")
		})
		t.Run(strategy+"/deleted while it is destroyed", func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, strategy)
			s := newStage(t)
			p, i := s.pool(1, nil), newInstance()
			s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy}))
			if errors := s.disturbed(i, nil, func(acctest.Request) { p.DeleteAndWait() }); errors != "" {
				t.Fatalf("there is nothing left to give up: %s", errors)
			}
		})
	}
}

// TestAccMachineSetTaints_aSetThatGoesSlowlyInTheMiddle is deleted in the foreground: the
// apply does not wait for machines that no controller makes any more.
func TestAccMachineSetTaints_aSetThatGoesSlowlyInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"rolling", "surge", "scale_to_zero"} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, i := s.pool(2, func(m *acctest.MachineSet) { m.Cloud = map[string]any{"deleteDelay": "2s"} }), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) { p.DeleteForeground() }), "Unable to create taints of MachineSet", "is not there", "plan and apply again")
		})
	}
}

// TestAccMachineSetTaints_aRecreatedSetWithOwnedEntriesIsKept: a destroy whose
// MachineSet is made anew out of a copy, marks included, does not report that all is
// given up.
func TestAccMachineSetTaints_aRecreatedSetWithOwnedEntriesIsKept(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(1, nil), newInstance()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "rolling"}))
	p.Keep()
	acctest.WantAll(s.T, s.disturbed(i, nil, func(acctest.Request) { s.recreate(p) }), "has been deleted and recreated", "Plan and apply again")
	p.Serve(1)
	s.apply(i, nil)
	p.Want(1, foreign)
}

// TestAccMachineSetTaints_aMachineThatIsDeletedByHandInTheMiddle is the one that is
// written to, or another one.
func TestAccMachineSetTaints_aMachineThatIsDeletedByHandInTheMiddle(t *testing.T) {
	t.Parallel()
	for _, strategy := range reaching {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			p, i := s.pool(2, nil), newInstance()
			config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			names := p.Names()
			if errors := s.disturbed(i, config, func(r acctest.Request) {
				if strings.Contains(r.Path, "/machines/") {
					names[0] = r.Base()
				}
				p.Lose(names[0])
			}); errors != "" {
				t.Fatal(errors)
			}
			p.Want(2, foreign+" team=a:NoSchedule")
		})
	}
}

// TestAccMachineSetTaints_aNodeThatGoesInTheMiddle leaves its Machine Running, which
// is not corrected here.
func TestAccMachineSetTaints_aNodeThatGoesInTheMiddle(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p, i := s.pool(2, nil), newInstance()
	s.apply(i, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "in_place"}))
	proxy := s.c.Proxy(t)
	gone := ""
	proxy.Spoil(func(r acctest.Request) acctest.Fault {
		if r.Write() && strings.Contains(r.Path, "/nodes/") && gone == "" {
			gone = r.Base()
			s.c.DeleteNode(t, gone)
		}
		return acctest.None
	})
	tf := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}
	if d := tf.Apply(t, i, s.config(p.Name, "team=b:NoSchedule", map[string]any{"strategy": "in_place"})); d.Errors() != "" || gone == "" {
		t.Fatalf("node %q is gone: %s", gone, d.Errors())
	}
	for name, m := range p.Machines() {
		if m.Status.NodeRef.Name == gone {
			continue
		}
		if taints := s.c.Taints(t, m.Status.NodeRef.Name); p.Sorted(strings.ReplaceAll(taints, ",", "")) != p.Sorted(foreign+" team=b:NoSchedule") {
			t.Fatalf("the node of %s has %s", name, taints)
		}
	}
}

// TestAccMachineSetTaints_othersAddATaintToTheTemplateInTheMiddle: machines that were made before
// lack it for good, and the rollout does not wait for them to get it.
func TestAccMachineSetTaints_othersAddATaintToTheTemplateInTheMiddle(t *testing.T) {
	t.Parallel()
	// fresh is how many of the machines have the taint of the resource when another one comes.
	for strategy, tt := range map[string]struct {
		writes       int64
		spare, fresh int
	}{"rolling": {2, 0, 1}, "surge": {1, 1, 1}, "scale_to_zero": {1, 0, 0}, "in_place": {2, 0, 1}} {
		t.Run(strategy, func(t *testing.T) {
			t.Parallel()
			oneStrategy(t, strategy)
			s := newStage(t)
			p, i, proxy := s.pool(2, func(m *acctest.MachineSet) { m.Spare = tt.spare }), newInstance(), s.c.Proxy(t)
			proxy.InTurn()
			fresh := -1
			proxy.BeforeWrite(tt.writes, func(acctest.Request) {
				fresh = 0
				for _, m := range p.Machines() {
					if strings.Contains(taint.FormatAll(m.Spec.Taints), "team=a") {
						fresh++
					}
				}
				p.AddToTemplate("late:NoSchedule")
			})
			tf, config := &acctest.Terraform{Provider: proxy.Provider(t, s.c)}, s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": strategy})
			if errors := tf.Apply(t, i, config).Errors(); errors != "" || fresh != tt.fresh {
				t.Fatalf("%d machines had the taint when another one came: %s", fresh, errors)
			}
			p.WantTemplate(2, foreign+" late:NoSchedule team=a:NoSchedule")
			for name, m := range p.Machines() {
				if !strings.Contains(s.c.Taints(t, m.Status.NodeRef.Name), "team=a:NoSchedule") {
					t.Errorf("machine %s lacks the taint of the resource", name)
				}
			}
			if planned := tf.Plan(t, i, config); !planned.Empty {
				t.Errorf("the next plan is not empty: %s", planned.Diagnostics.Warnings())
			}
		})
	}
}
