// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// templateOnly changes no existing machine.
var templateOnly = map[string]any{"strategy": "template_only"}

// TestMachineSetTaints_aTemplateThatLosesItsTaintsIsMended also where machines are left
// as they are: that those differ for as long as they live hides nothing.
func TestMachineSetTaints_aTemplateThatLosesItsTaintsIsMended(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p := s.pool(1, nil)
		i, config, before := newInstance(), s.config(p.Name, "team=a:NoSchedule", templateOnly), p.Names()
		s.apply(i, config)
		s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"spec":{"taints":[{"key":"vendor","value":"x","effect":"NoSchedule"}]}}}}`)
		if planned := s.tf.Plan(t, i, config); planned.Empty {
			t.Fatal("another writer has taken a taint out of the template, and the plan is empty")
		}
		s.apply(i, config)
		p.WantTemplate(1, foreign+" team=a:NoSchedule")
		if got := p.Names(); !slices.Equal(got, before) {
			t.Fatalf("the machines were %v and are %v", before, got)
		}
	})
}

// TestMachineSetTaints_otherWordsOfTheSameArePlannedAsNothing: no plan reports that it
// cannot know yet how machines differ which it does not touch.
func TestMachineSetTaints_otherWordsOfTheSameArePlannedAsNothing(t *testing.T) {
	t.Parallel()
	for name, taint := range map[string]map[string]any{
		"an empty value": {"key": "team", "value": "", "effect": "NoSchedule"},
		"no value":       {"key": "team", "effect": "NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				p := s.pool(1, nil)
				i := newInstance()
				config := acctest.With(s.config(p.Name, "", templateOnly), map[string]any{"taints": []any{taint}})
				s.apply(i, config)
				other := maps.Clone(taint)
				if _, has := other["value"]; has {
					delete(other, "value")
				} else {
					other["value"] = ""
				}
				if planned := s.tf.Plan(t, i, acctest.With(config, map[string]any{"taints": []any{other}})); !planned.Empty {
					t.Fatal("the same in other words is planned as a change")
				}
				told := fmt.Sprint(s.tf.Attributes(t, i)["machines"])
				for attribute, value := range map[string]any{
					"on_conflict": "adopt", "evictions": map[string]any{"max_pods": 1}, "timeouts": map[string]any{"update": "5m"},
				} {
					changed := acctest.With(config, map[string]any{attribute: value})
					planned := s.tf.Plan(t, i, changed)
					if planned.Empty || planned.Diagnostics.Errors() != "" {
						t.Fatalf("another %s is planned as nothing (%t), with %s", attribute, planned.Empty, planned.Diagnostics.Errors())
					}
					if got := fmt.Sprint(s.tf.Attributes(t, &acctest.Instance{Type: i.Type, State: planned.State})["machines"]); got != told {
						t.Fatalf("with another %s machines are planned as %s, and they stay %s", attribute, got, told)
					}
					s.apply(i, changed)
					s.apply(i, config)
				}
			})
		})
	}
}

// TestMachineSetTaints_whatTemplateOnlyHasLeftOnMachinesGoesLater: nothing in the cluster
// says whose it was, and a strategy that reaches machines takes it from them all the same.
func TestMachineSetTaints_whatTemplateOnlyHasLeftOnMachinesGoesLater(t *testing.T) {
	t.Parallel()
	inPlace := map[string]any{"strategy": "in_place"}
	labelled := map[string]any{"name": nil, "selector": "group=gpu"}
	for name, tt := range map[string]struct {
		// leave makes the taint go from the template alone; later are the taints that are
		// wanted with the strategy that reaches machines.
		leave func(s *stage, p *acctest.Pool, i *acctest.Instance)
		later string
	}{
		"a taint that is not wanted any more": {func(s *stage, _ *acctest.Pool, i *acctest.Instance) {
			s.apply(i, acctest.With(s.config("", "crew=a:NoSchedule", templateOnly), labelled))
		}, "crew=a:NoSchedule"},
		"and another template change between": {func(s *stage, _ *acctest.Pool, i *acctest.Instance) {
			s.apply(i, acctest.With(s.config("", "crew=a:NoSchedule", templateOnly), labelled))
			s.apply(i, acctest.With(s.config("", "crew=b:NoSchedule", templateOnly), labelled))
		}, "crew=b:NoSchedule"},
		"a MachineSet that has left the selector": {func(s *stage, p *acctest.Pool, i *acctest.Instance) {
			s.c.Change(s.T, p.Thing, "somebody", `{"metadata":{"labels":{"group":"cpu"}}}`)
			s.apply(i, acctest.With(s.config("", "team=a:NoSchedule", templateOnly), labelled))
		}, "team=a:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				p := s.pool(1, func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} })
				i := newInstance()
				s.apply(i, acctest.With(s.config("", "team=a:NoSchedule", inPlace), labelled))
				tt.leave(s, p, i)
				if told, _ := s.tf.Attributes(t, i)["machines"].(map[string]any); len(told) != 1 {
					t.Fatalf("machines that still have the taint are told as %v", told)
				}
				d := s.apply(i, acctest.With(s.config("", tt.later, inPlace), labelled))
				want := foreign
				if strings.HasPrefix(tt.later, "crew") {
					want += " " + tt.later
				}
				p.Want(1, want)
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
			})
		})
	}
}

// TestMachineSetTaints_aFailedApplyRecordsTaintsRemainingOnMachines: one of two
// MachineSets has been changed by then.
func TestMachineSetTaints_aFailedApplyRecordsTaintsRemainingOnMachines(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		labelled := map[string]any{"name": nil, "selector": "group=gpu"}
		pool := func() *acctest.Pool {
			return s.pool(1, func(m *acctest.MachineSet) { m.Labels = map[string]string{"group": "gpu"} })
		}
		leaver, stays, i := pool(), pool(), newInstance()
		if leaver.Name > stays.Name {
			// They are changed in the order of their names, until one fails.
			leaver, stays = stays, leaver
		}
		s.apply(i, acctest.With(s.config("", "team=a:NoSchedule", map[string]any{"strategy": "in_place"}), labelled))
		s.c.Change(t, leaver.Thing, "somebody", `{"metadata":{"labels":{"group":"cpu"}}}`)
		config := acctest.With(s.config("", "team=b:NoSchedule", templateOnly), labelled)
		planned := s.tf.Plan(t, i, config)
		record := stays.Annotation(taint.OwnedAnnotation)
		damage := func(record string) {
			raw, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{taint.OwnedAnnotation: record}}})
			if err != nil {
				t.Fatal(err)
			}
			s.c.Change(t, stays.Thing, "somebody", string(raw))
		}
		walk := s.tf.Walk(t)
		walk.Between = func() { damage("damaged") }
		acctest.WantAll(t, walk.ApplyChange(i, planned, config).Errors(), "damaged")
		leaver.WantTemplate(1, foreign)
		damage(record)
		s.apply(i, acctest.With(config, map[string]any{"rollout": map[string]any{"strategy": "in_place"}}))
		leaver.Want(1, foreign)
		stays.Want(1, foreign+" team=b:NoSchedule")
	})
}

// TestMachineSetTaints_aDestroyThatChangesNoMachineNamesWhatRemains on which of them.
func TestMachineSetTaints_aDestroyThatChangesNoMachineNamesWhatRemains(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(1, nil), newInstance()
		s.apply(i, s.config(p.Name, "team=a:NoSchedule spot:NoSchedule", map[string]any{"strategy": "in_place"}))
		s.apply(i, s.config(p.Name, "team=a:NoSchedule", templateOnly))
		acctest.WantAll(t, s.tf.Plan(t, i, nil).Diagnostics.Warnings(),
			"Destroying leaves spot:NoSchedule, team=a:NoSchedule on 1 machine of MachineSet", "\n  "+p.Names()[0]+"\n", "apply another rollout strategy first")
		s.apply(i, nil)
		p.WantTemplate(1, foreign)
	})
}
