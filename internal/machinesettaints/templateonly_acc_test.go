// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

// templateOnly leaves machines as they are.
var templateOnly = map[string]any{"strategy": "template_only"}

// TestAccMachineSetTaints_aTemplateThatLosesItsTaintsIsMended also where machines are left
// as they are: that those differ for as long as they live hides nothing.
func TestAccMachineSetTaints_aTemplateThatLosesItsTaintsIsMended(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	p := s.pool(1, nil)
	i, config, before := newInstance(), s.config(p.Name, "team=a:NoSchedule", templateOnly), p.Names()
	s.apply(i, config)
	s.c.Change(t, p.Thing, "somebody", `{"spec":{"template":{"spec":{"taints":[{"key":"vendor","value":"x","effect":"NoSchedule"}]}}}}`)
	if planned := s.tf.Plan(t, i, config); planned.Empty {
		t.Fatal("somebody has taken a taint out of the template, and the plan is empty")
	}
	s.apply(i, config)
	p.WantTemplate(1, foreign+" team=a:NoSchedule")
	if got := p.Names(); !slices.Equal(got, before) {
		t.Fatalf("the machines were %v and are %v", before, got)
	}
}

// TestAccMachineSetTaints_otherWordsOfTheSameArePlannedAsNothing: no plan says that it
// cannot know yet how machines differ which it does not touch.
func TestAccMachineSetTaints_otherWordsOfTheSameArePlannedAsNothing(t *testing.T) {
	t.Parallel()
	for name, taint := range map[string]map[string]any{
		"an empty value": {"key": "team", "value": "", "effect": "NoSchedule"},
		"no value":       {"key": "team", "effect": "NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
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
			if planned := s.tf.Plan(t, i, acctest.With(config, map[string]any{"on_conflict": "adopt"})); planned.Empty {
				t.Fatal("a change of what is asked for is planned as nothing")
			}
		})
	}
}
