// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// leftStage is a MachineSet with one Machine, on which no controller acts: the strategies
// template_only and in_place need none.
type leftStage struct {
	*testing.T
	c            *acctest.Cluster
	tf           *acctest.Terraform
	set, machine acctest.Thing
	i            *acctest.Instance
}

// onLeftStage runs a test where in_place has brought team=a to template and Machine.
func onLeftStage(t *testing.T, test func(t *testing.T, s *leftStage)) {
	t.Helper()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		s := &leftStage{T: t, c: c, tf: &acctest.Terraform{Provider: c.Provider(t)}, set: c.Unattended(t, c.Namespace(t)), i: newInstance()}
		s.machine = acctest.Thing{APIVersion: s.set.APIVersion, Kind: "Machine", Namespace: s.set.Namespace, Name: "m1"}
		c.MachineOf(t, s.set, "m1")
		s.relabel("gpu")
		s.apply(s.i, s.config("team=a:NoSchedule", "in_place"))
		s.want("team=a:NoSchedule", "team=a:NoSchedule")
		test(t, s)
	}, controllers.MachineAPI...)
}

func (s *leftStage) config(taints, strategy string) map[string]any {
	return map[string]any{"namespace": s.set.Namespace, "selector": "group=gpu", "taints": acctest.Objects(s.T, taints), "rollout": map[string]any{"strategy": strategy}}
}

func (s *leftStage) relabel(group string) {
	s.c.Change(s.T, s.set, "somebody", fmt.Sprintf(`{"metadata":{"labels":{"group":%q}}}`, group))
}

func (s *leftStage) apply(i *acctest.Instance, config map[string]any) acctest.Diagnostics {
	s.Helper()
	d := s.tf.Apply(s.T, i, config)
	if d.Errors() != "" {
		s.Fatal(d.Errors())
	}
	return d
}

// killed applies, and is killed once all is written: no state is saved.
func (s *leftStage) killed(config map[string]any) {
	s.Helper()
	before := *s.i
	s.apply(&before, config)
}

// want expects these taints of the template and of the Machine.
func (s *leftStage) want(template, machine string) {
	s.Helper()
	if got := s.taints(s.set, "spec", "template", "spec", "taints"); got != template {
		s.Errorf("the template has %q, want %q", got, template)
	}
	if got := s.taints(s.machine, "spec", "taints"); got != machine {
		s.Errorf("the Machine has %q, want %q", got, machine)
	}
	if s.Failed() {
		s.FailNow()
	}
}

func (s *leftStage) taints(of acctest.Thing, path ...string) string {
	s.Helper()
	var at any = s.c.Look(s.T, of).Object
	for _, name := range path {
		fields, _ := at.(map[string]any)
		at = fields[name]
	}
	list, _ := at.([]any)
	var out []string
	for _, one := range list {
		fields, _ := one.(map[string]any)
		out = append(out, fmt.Sprintf("%v=%v:%v", fields["key"], fields["value"], fields["effect"]))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// TestMachineSetTaints_noKillForgetsWhatTemplateOnlyLeft: the next run takes it from the
// Machine, with the state from before and with none of what the private state held.
func TestMachineSetTaints_noKillForgetsWhatTemplateOnlyLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		leave func(s *leftStage)
		// later is the configuration that reaches machines, nil to destroy with in_place.
		later string
		// template and machine are what they have after that.
		template, machine string
	}{
		"of a MachineSet that has left the selector": {func(s *leftStage) {
			s.relabel("cpu")
			s.killed(s.config("team=a:NoSchedule", "template_only"))
		}, "team=a:NoSchedule", "", ""},
		"of such a MachineSet, before a destroy": {func(s *leftStage) {
			s.relabel("cpu")
			s.killed(s.config("team=a:NoSchedule", "template_only"))
		}, "", "", ""},
		"of an update that was killed before": {func(s *leftStage) {
			s.killed(s.config("crew=a:NoSchedule", "in_place"))
			s.killed(s.config("spot=a:NoSchedule", "template_only"))
		}, "spot=a:NoSchedule", "spot=a:NoSchedule", "spot=a:NoSchedule"},
		"before the private state was lost": {func(s *leftStage) {
			s.apply(s.i, s.config("crew=a:NoSchedule", "template_only"))
			s.i.Private = nil
		}, "crew=a:NoSchedule", "crew=a:NoSchedule", "crew=a:NoSchedule"},
		"before the private state was lost, and another apply": {func(s *leftStage) {
			s.apply(s.i, s.config("crew=a:NoSchedule", "template_only"))
			s.i.Private = nil
			s.apply(s.i, s.config("crew=b:NoSchedule", "template_only"))
		}, "crew=b:NoSchedule", "crew=b:NoSchedule", "crew=b:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onLeftStage(t, func(_ *testing.T, s *leftStage) {
				tt.leave(s)
				var config map[string]any
				if tt.later != "" {
					config = s.config(tt.later, "in_place")
				}
				s.apply(s.i, config)
				s.want(tt.template, tt.machine)
			})
		})
	}
}

// TestMachineSetTaints_aReplacementTakesOverWhatTemplateOnlyLeft where it is created first, in
// the same process: its in_place takes it from the Machine.
func TestMachineSetTaints_aReplacementTakesOverWhatTemplateOnlyLeft(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		createFirst, otherProcess bool
	}{
		"the destroy comes first":                       {},
		"the create comes first":                        {createFirst: true},
		"the create comes in another process":           {otherProcess: true},
		"the create comes first, and another process's": {createFirst: true, otherProcess: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onLeftStage(t, func(t *testing.T, s *leftStage) {
				// The replacement has the id that the taints make now.
				older, newer := newInstance(), newInstance()
				s.apply(s.i, nil)
				s.apply(older, s.config("crew=a:NoSchedule", "in_place"))
				s.apply(older, s.config("team=a:NoSchedule crew=a:NoSchedule", "in_place"))
				config := s.config("crew=a:NoSchedule", "template_only")
				s.apply(older, config)
				s.want("crew=a:NoSchedule", "crew=a:NoSchedule team=a:NoSchedule")

				plans := s.tf.Walk(t)
				create, destroyed := plans.Plan(newer, config), acctest.Planned{Private: older.Private}
				acctest.WantAll(t, create.Diagnostics.Warnings(), "Apply leaves team=a:NoSchedule on 1 machine of MachineSet", "Only a run that also destroys the earlier object")
				first := s.tf.Walk(t)
				second := first
				if tt.otherProcess {
					second = s.tf.Walk(t)
				}
				carry := func(walk *acctest.Walk, i *acctest.Instance, planned acctest.Planned, config map[string]any) {
					t.Helper()
					if d := walk.ApplyChange(i, planned, config); d.Errors() != "" {
						t.Fatal(d.Errors())
					}
				}
				if tt.createFirst {
					carry(first, newer, create, config)
					carry(second, older, destroyed, nil)
				} else {
					carry(first, older, destroyed, nil)
					carry(second, newer, create, config)
				}
				s.want("crew=a:NoSchedule", "crew=a:NoSchedule team=a:NoSchedule")
				if again := s.tf.Plan(t, newer, config); !again.Empty {
					t.Fatal("the plan of the replacement is not empty")
				}
				told := s.apply(newer, s.config("crew=a:NoSchedule", "in_place")).Warnings()
				if tt.otherProcess || !tt.createFirst {
					// Nothing proves any more whose it was.
					s.want("crew=a:NoSchedule", "crew=a:NoSchedule team=a:NoSchedule")
					return
				}
				s.want("crew=a:NoSchedule", "crew=a:NoSchedule")
				acctest.WantAll(t, told, "Apply takes team=a:NoSchedule from 1 machine of MachineSet")
				if left := s.record(); left != "" {
					t.Errorf("the record is left: %s", left)
				}
			})
		})
	}
}

// record returns what the MachineSet records of what its Machine kept.
func (s *leftStage) record() string {
	return s.c.Look(s.T, s.set).GetAnnotations()[machineset.RemnantsAnnotation]
}

func (s *leftStage) write(record string) {
	s.Helper()
	raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{machineset.RemnantsAnnotation: record}}})
	if err != nil {
		s.Fatal(err)
	}
	s.c.Change(s.T, s.set, "somebody", string(raw))
}

// TestMachineSetTaints_aReplacementNamesWhatTemplateOnlyLeaves, and records nothing.
func TestMachineSetTaints_aReplacementNamesWhatTemplateOnlyLeaves(t *testing.T) {
	t.Parallel()
	onLeftStage(t, func(t *testing.T, s *leftStage) {
		config := s.config("crew=a:NoSchedule", "template_only")
		s.apply(s.i, config)
		if s.record() == "" {
			t.Fatal("nothing is recorded")
		}
		walk := s.tf.Walk(t)
		d := walk.ApplyChange(s.i, acctest.Planned{Private: s.i.Private}, nil)
		acctest.WantAll(t, d.Warnings(), "Destroying leaves team=a:NoSchedule on 1 machine of MachineSet")
		if left := s.record(); left != "" {
			t.Errorf("the record is left: %s", left)
		}
		s.want("", "team=a:NoSchedule")
	})
}

// TestMachineSetTaints_aForgedRecordRemovesNothing: a user who may patch a MachineSet may write
// what its Machines kept, and may not remove their taints that way.
func TestMachineSetTaints_aForgedRecordRemovesNothing(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		forge func(s *leftStage, genuine string) string
		// fails is what an apply fails with, "" for nothing.
		fails string
	}{
		"about another taint": {forge: func(_ *leftStage, r string) string { return strings.ReplaceAll(r, `"key":"team"`, `"key":"vendor"`) }},
		"without a proof": {forge: func(_ *leftStage, r string) string {
			return strings.ReplaceAll(strings.ReplaceAll(r, `"key":"team"`, `"key":"vendor"`), `"proof"`, `"other"`)
		}},
		"that cannot be read": {forge: func(*leftStage, string) string { return "[{" }, fails: "the annotation kubetaint.io/remaining-taints is damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onLeftStage(t, func(t *testing.T, s *leftStage) {
				s.c.Change(t, s.machine, "somebody", `{"spec":{"taints":[{"key":"team","value":"a","effect":"NoSchedule"},{"key":"vendor","value":"a","effect":"NoSchedule"}]}}`)
				s.apply(s.i, s.config("crew=a:NoSchedule", "template_only"))
				s.write(tt.forge(s, s.record()))
				d := s.tf.Apply(t, s.i, s.config("crew=a:NoSchedule", "in_place"))
				if tt.fails != "" {
					acctest.WantAll(t, d.Errors(), tt.fails, "taints remaining on machines", "kubectl annotate machineset.machine.openshift.io "+s.set.Name)
					s.want("crew=a:NoSchedule", "team=a:NoSchedule vendor=a:NoSchedule")
					return
				}
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				acctest.WantAll(t, d.Warnings(), "Apply leaves vendor=a:NoSchedule on 1 machine of MachineSet")
				s.want("crew=a:NoSchedule", "crew=a:NoSchedule team=a:NoSchedule vendor=a:NoSchedule")
			})
		})
	}
}
