// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints_test

import (
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestMachineSetTaints_anAutoscalerInTheMiddle scales right before the second
// write: what does not count on a number goes through with the new one, a surge stops.
func TestMachineSetTaints_anAutoscalerInTheMiddle(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy string
		to       int
		// stops reports that the apply stops, and wants are how many machines there are in
		// the end.
		stops bool
		wants int
	}{
		"in place, one more":                {"in_place", 3, false, 3},
		"rolling, one more":                 {"rolling", 3, false, 3},
		"rolling, one fewer":                {"rolling", 1, false, 1},
		"rolling, none":                     {"rolling", 0, false, 0},
		"surge, one more than it added":     {"surge", 4, true, 2},
		"surge, the one that it had added":  {"surge", 2, false, 2},
		"surge, fewer than there ever were": {"surge", 1, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				p, i := s.pool(2, func(m *acctest.MachineSet) { m.Annotations = maps.Clone(autoscaled("0", "5")) }), newInstance()
				config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": tt.strategy})
				errors := s.disturbed(i, config, func(acctest.Request) { p.Scale(tt.to) })
				if tt.stops {
					acctest.WantAll(s.T, errors, "Another writer scaled MachineSet", "when spec.replicas was 2, and now expects 2 or 3", "kubetaint.io/rollout-")
					if p.Replicas() != tt.to || p.Annotation("kubetaint.io/rollout") == "" {
						t.Fatalf("the count is %d and the marker %q", p.Replicas(), p.Annotation("kubetaint.io/rollout"))
					}
					// As the message says, which depends on whether an old machine is left.
					to := regexp.MustCompile(`--replicas=([23])\b`).FindStringSubmatch(errors)
					if to == nil {
						t.Fatalf("nothing says to what it is to be scaled: %s", errors)
					}
					p.Scale(map[string]int{"2": 2, "3": 3}[to[1]])
					s.apply(i, config)
				} else if errors != "" {
					t.Fatal(errors)
				}
				p.Want(tt.wants, foreign+" team=a:NoSchedule")
			})
		})
	}
}

// TestMachineSetTaints_aSetScaledByAnotherWriterAtZero stops it before it brings
// the count back, which stays in the marker, and it goes on as the message says.
func TestMachineSetTaints_aSetScaledByAnotherWriterAtZero(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ to, back int }{
		"to one, and back to zero":           {1, 0},
		"to more than it had, and back to 2": {4, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onFake(t, func(t *testing.T, s *stage) {
				p, i := s.pool(2, nil), newInstance()
				config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "scale_to_zero"})
				errors := s.disturbed(i, config, func(acctest.Request) { p.Scale(tt.to) })
				acctest.WantAll(s.T, errors, "Another writer scaled MachineSet", fmt.Sprintf("to %d during a rollout", tt.to), "and now expects 0 or 2", "--replicas=2", "kubetaint.io/rollout-")
				if p.Replicas() != tt.to || !strings.Contains(p.Annotation("kubetaint.io/rollout"), `"originalReplicas":2`) {
					t.Fatalf("the count is %d and the marker %q", p.Replicas(), p.Annotation("kubetaint.io/rollout"))
				}
				p.Scale(tt.back)
				s.apply(i, config)
				p.Want(2, foreign+" team=a:NoSchedule")
			})
		})
	}
}

// TestMachineSetTaints_theOtherWayOutOfAScaledSurge is the second one that its
// error names.
func TestMachineSetTaints_theOtherWayOutOfAScaledSurge(t *testing.T) {
	t.Parallel()
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(2, func(m *acctest.MachineSet) { m.Spare = 3 }), newInstance()
		config := s.config(p.Name, "team=a:NoSchedule", map[string]any{"strategy": "surge"})
		acctest.WantAll(s.T, s.disturbed(i, config, func(acctest.Request) { p.Scale(4) }), "kubetaint.io/rollout-", "and replaces the machines that are still old")
		s.c.Change(t, p.Thing, "somebody", `{"metadata":{"annotations":{"kubetaint.io/rollout":null}}}`)
		s.apply(i, config)
		p.Want(4, foreign+" team=a:NoSchedule")
	})
}

// TestMachineSetTaints_rolloutStateTellsOfAnInterruptedUpdate, and of one that has ended.
func TestMachineSetTaints_rolloutStateTellsOfAnInterruptedUpdate(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "continues an interrupted rollout of")
	onFake(t, func(t *testing.T, s *stage) {
		p, i := s.pool(2, nil), newInstance()
		surge := map[string]any{"strategy": "surge"}
		s.apply(i, s.config(p.Name, "team=a:NoSchedule", surge))
		changed := s.config(p.Name, "team=b:NoSchedule", surge)
		acctest.WantAll(s.T, s.disturbed(i, changed, func(acctest.Request) { p.Scale(4) }), "Another writer scaled MachineSet")
		planned := s.tf.Plan(t, i, changed)
		acctest.WantAll(s.T, planned.Diagnostics.Warnings(), "Apply will stop before it changes MachineSet", "Another writer scaled MachineSet")
		if said := planned.Diagnostics.Warnings(); strings.Contains(said, "Apply continues") {
			t.Errorf("the plan tells of a rollout that the apply does not continue: %s", said)
		}
		if got := s.tf.Attributes(t, i)["rollout_state"]; got != "interrupted" {
			t.Fatalf("rollout_state is %v", got)
		}
		p.Scale(3)
		s.apply(i, changed)
		p.Want(2, foreign+" team=b:NoSchedule")
		if got := s.tf.Attributes(t, i)["rollout_state"]; got != "complete" {
			t.Fatalf("rollout_state is %v", got)
		}
	})
}
