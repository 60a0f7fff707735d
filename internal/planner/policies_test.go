// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestOrder_ofPolicies: the policy comes before the taint that it is for, and goes after
// it. Everything is carried out step by step, and planned anew after each: what was
// planned first is what is done.
func TestOrder_ofPolicies(t *testing.T) {
	t.Parallel()
	const a, b = "team=a:NoExecute", "team=b:NoExecute"
	mark := admission.Mark{Owner: "me", Generation: "g2"}
	policy := func(retiring []string, notations ...string) *admission.Observed {
		return &admission.Observed{Policy: admission.Policy{Name: "p", Tolerations: tols(t, notations...), Retiring: tols(t, retiring...)}, Mark: mark}
	}
	for name, tt := range map[string]struct {
		node   string
		seen   *admission.Observed
		taints []string
		wanted []string
		gone   bool
		// standalone is a change of the policy alone.
		standalone bool
		steps      []string
	}{
		"a taint that is new": {taints: []string{a}, wanted: []string{a}, steps: []string{"write policy p: team=a:NoExecute", "switch"}},
		"another value": {
			node: "*" + a, seen: policy(nil, a), taints: []string{b}, wanted: []string{b},
			steps: []string{"write policy p: team=b:NoExecute, ~team=a:NoExecute", "switch", "remove unneeded tolerations from policy p: team=b:NoExecute"},
		},
		"a taint that goes":                     {node: "*" + a, seen: policy(nil, a), taints: []string{}, gone: true, steps: []string{"switch", "delete policy p"}},
		"nothing to do":                         {node: "*" + a, seen: policy(nil, a), taints: []string{a}, wanted: []string{a}},
		"a policy alone while its taint stands": {node: a, seen: policy(nil, a), wanted: []string{b}, standalone: true, steps: []string{"write policy p: team=b:NoExecute, ~team=a:NoExecute"}},
		"a policy alone whose taint has gone":   {seen: policy([]string{a}, b), wanted: []string{b}, standalone: true, steps: []string{"remove unneeded tolerations from policy p: team=b:NoExecute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := aNode(t, "n", "gpu")
			if tt.node != "" {
				node = aNode(t, "n", "gpu", tt.node)
			}
			claim := admission.Claim{Policy: admission.Policy{Name: "p", Tolerations: tols(t, tt.wanted...)}, Mark: mark, Release: tt.gone}
			seen := tt.seen
			plan := func() Plan {
				change := Change{Policies: []DesiredPolicy{{Claim: claim, Seen: seen}}}
				if !tt.standalone {
					change.Nodes = []NodeTaints{desire(t, pool(t, "gpu"), tt.taints...)}
				}
				return Order(aSnapshot([]*snapshot.Node{node}), change, eviction.ComparisonOff)
			}
			write := func(s Step) string {
				if s.Kind == ApplyTaints {
					return "switch"
				}
				out := s.String()
				if s.Policy.Policy != nil {
					out += ": " + toleration.Format(s.Policy.Policy.Tolerations)
					for _, one := range s.Policy.Policy.Retiring {
						out += ", ~" + toleration.Format([]corev1.Toleration{one})
					}
				}
				return out
			}
			var planned, done []string
			for _, s := range plan().Steps {
				planned = append(planned, write(s))
			}
			for p := plan(); len(p.Steps) > 0 && len(done) < 9; p = plan() {
				s := p.Steps[0]
				done = append(done, write(s))
				switch {
				case s.Kind == ApplyTaints:
					next := *node
					next.Taints, next.Record = s.Nodes.Switches[0].Merged.Taints, s.Nodes.Switches[0].Merged.Record
					node = &next
				case s.Policy.Delete:
					seen = nil
				default:
					seen = &admission.Observed{Policy: *s.Policy.Policy, Mark: mark}
				}
			}
			if diff := cmp.Diff(tt.steps, planned); diff != "" {
				t.Errorf("planned (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.steps, done); diff != "" {
				t.Errorf("done (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the plan of a create has no generation yet", func(t *testing.T) {
		t.Parallel()
		node, wanted := aNode(t, "n", "gpu"), admission.Policy{Name: "p", Tolerations: tols(t, a)}
		for name, seen := range map[string]*admission.Observed{"without a policy": nil, "with one of an interrupted create": policy(nil, b)} {
			change := Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), a)}, Policies: []DesiredPolicy{{Claim: admission.Claim{Policy: wanted, Mark: admission.Mark{Owner: "me"}, TakeOver: true}, Seen: seen}}}
			plan := Order(aSnapshot([]*snapshot.Node{node}), change, eviction.ComparisonOff)
			if plan.PolicyErr != nil || len(plan.Steps) != 2 || plan.Steps[0].Kind != Admit || plan.Steps[1].Kind != ApplyTaints {
				t.Errorf("%s: steps %v, error %v", name, plan.Steps, plan.PolicyErr)
			}
		}
	})
	t.Run("a policy of another owner stops the change", func(t *testing.T) {
		t.Parallel()
		theirs := policy(nil, a)
		theirs.Owner, theirs.Generation = "them", "g9"
		change := Change{Policies: []DesiredPolicy{{Claim: admission.Claim{Policy: admission.Policy{Name: "p", Tolerations: tols(t, a)}, Mark: mark}, Seen: theirs}}}
		conflict := new(admission.Conflict)
		if plan := Order(aSnapshot(nil), change, eviction.ComparisonOff); !errors.As(plan.PolicyErr, &conflict) || conflict.Owner != "them" {
			t.Errorf("got %v", plan.PolicyErr)
		}
	})
}

// TestOrder_aPolicyLetsPodsComeBack: the step that switches taints is judged with what the
// policy gives by then.
func TestOrder_aPolicyLetsPodsComeBack(t *testing.T) {
	t.Parallel()
	for _, given := range []bool{false, true} {
		web := aWorkload(t, "Deployment", "web")
		change := Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "team=a:NoExecute")}}
		if given {
			claim := admission.Claim{Policy: admission.Policy{Name: "p", Match: admission.Match{Namespaces: []string{"shop"}}, Tolerations: tols(t, "team=a:NoExecute")}}
			change.Policies = []DesiredPolicy{{Claim: claim}}
		}
		plan := Order(aSnapshot([]*snapshot.Node{aNode(t, "n", "gpu")}, aPod(t, web, "a1", "n")), change, eviction.ComparisonOff)
		last := plan.Steps[len(plan.Steps)-1]
		if got := last.Report.Pods[0]; got.Verdict != eviction.EvictedNow || last.Report.Gone(got) == given {
			t.Errorf("with a policy %t: %s: %s", given, got.Verdict, last.Report.Why(got))
		}
	}
}

func TestPolicies_onlyLinkedOnesAreSureToComeBeforeTheTaints(t *testing.T) {
	t.Parallel()
	var p Policies
	p.Note("o/toleration_policy/a", admission.Policy{Name: "a"})
	p.Note("o/toleration_policy/b", admission.Policy{Name: "b"})
	there := (&admission.Rules{}).With(admission.Policy{Name: "there"})
	var got []string
	for _, one := range p.Over(there, []string{"o/toleration_policy/b", "o/other"}).Policies {
		got = append(got, one.Name)
	}
	if diff := cmp.Diff([]string{"b", "there"}, got); diff != "" {
		t.Error(diff)
	}
	if p.Over(there, nil) != there {
		t.Error("without links nothing changes")
	}
}
