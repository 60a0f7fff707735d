// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// The nodes a and b carry taints, and the pods a1 and b1 of the workload web run on
// them.
func TestOrder_contractsWhoseTolerationsNoTaintNeedsAfterAllChanges(t *testing.T) {
	t.Parallel()
	// without gives up all taints of a node, on b those of another resource; with
	// wants these of it.
	without := func(t *testing.T, node string) NodeTaints {
		t.Helper()
		claim := taint.Claim{Owner: "me", Generation: "g2", Release: true}
		if node == "b" {
			claim.Owner, claim.Generation = "other", "g9"
		}
		return NodeTaints{Target: Target{Name: node}, Claim: claim}
	}
	with := func(t *testing.T, node string, taints ...string) NodeTaints {
		t.Helper()
		return desire(t, Target{Name: node}, taints...)
	}
	theirs := func(t *testing.T, node string, taints ...string) NodeTaints {
		t.Helper()
		out := with(t, node, taints...)
		out.Claim.Owner, out.Claim.Generation = "other", "g9"
		return out
	}
	for name, tt := range map[string]struct {
		a, b, list []string
		changes    []NodeTaints
		brings     []NodeTaints
		// own are changes of the same resource.
		own      []NodeTaints
		machines []map[string][]corev1.Taint
		hold     string
		others   bool
		want     []string
	}{
		"the last taint goes":                                  {a: []string{"*x=1:NoExecute"}, list: []string{"foreign Exists", "~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}, want: []string{"contract web: foreign Exists, restarts a1 b1"}},
		"another value comes in its place":                     {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute", "*x=2:NoExecute"}, changes: []NodeTaints{with(t, "a", "x=2:NoExecute")}, want: []string{"contract web: x=2:NoExecute, restarts a1 b1"}},
		"another node has it still":                            {a: []string{"*x=1:NoExecute"}, b: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}},
		"two changes take it off both nodes":                   {a: []string{"*x=1:NoExecute"}, b: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a"), without(t, "b")}, want: []string{"contract web:, restarts a1 b1"}},
		"two changes take two taints off one node":             {a: []string{"*x=1:NoExecute", "*y:NoExecute"}, list: []string{"~x=1:NoExecute", "~y:NoExecute"}, changes: []NodeTaints{with(t, "a", "x=1:NoExecute"), without(t, "a")}, want: []string{"contract web:, restarts a1 b1"}},
		"one of two taints goes":                               {a: []string{"*x=1:NoExecute", "*y:NoExecute"}, list: []string{"~x=1:NoExecute", "~y:NoExecute"}, changes: []NodeTaints{with(t, "a", "x=1:NoExecute")}, want: []string{"contract web: ~x=1:NoExecute, restarts a1 b1"}},
		"a later change brings it back":                        {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a"), with(t, "a", "x=1:NoExecute")}},
		"a taint of another owner needs it":                    {a: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}},
		"another toleration covers it":                         {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute", "x Exists"}, changes: []NodeTaints{without(t, "b")}, want: []string{"contract web: x Exists, restarts a1 b1"}},
		"what does not retire stays":                           {a: []string{"*x=1:NoExecute"}, list: []string{"*x=1:NoExecute", "x Exists:NoSchedule"}, changes: []NodeTaints{without(t, "a")}},
		"pods that do not follow do not restart":               {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, hold: "it is paused", changes: []NodeTaints{without(t, "a")}, want: []string{"contract web:"}},
		"a MachineSet's nodes lose it":                         {a: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": nil}}, want: []string{"contract web:, restarts a1 b1"}},
		"another MachineSet's nodes have it still":             {a: []string{"!x=1:NoExecute"}, b: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": nil}}},
		"two MachineSets' nodes lose it":                       {a: []string{"!x=1:NoExecute"}, b: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": nil}, {"b": nil}}, want: []string{"contract web:, restarts a1 b1"}},
		"another change of the same MachineSet brings it":      {a: []string{"!y:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": taintsOf(t, "y:NoExecute", "x=1:NoExecute")}, {"a": nil}}},
		"it is brought after another change of the MachineSet": {a: []string{"!y:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": nil}, {"a": taintsOf(t, "y:NoExecute", "x=1:NoExecute")}}},
		"two changes of one MachineSet take two taints":        {a: []string{"!x=1:NoExecute", "!y:NoExecute"}, list: []string{"~x=1:NoExecute", "~y:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": taintsOf(t, "x=1:NoExecute")}, {"a": taintsOf(t, "y:NoExecute")}}, want: []string{"contract web:, restarts a1 b1"}},
		"a change that takes nothing brings it":                {a: []string{"*y:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}, brings: []NodeTaints{with(t, "a", "x=1:NoExecute")}},
		"another change brings what this one takes":            {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, own: []NodeTaints{without(t, "a")}, brings: []NodeTaints{theirs(t, "a", "x=1:NoExecute")}},
		"a MachineSet's node loses it and another comes there": {a: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": nil}}, brings: []NodeTaints{with(t, "a", "y:NoExecute")}, want: []string{"contract web:, restarts a1 b1"}},
		"two changes of one MachineSet give it two values":     {a: []string{"!x=1:NoExecute"}, list: []string{"~x=2:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": taintsOf(t, "x=2:NoExecute")}, {"a": taintsOf(t, "x=3:NoExecute")}}, want: []string{"contract web:, restarts a1 b1"}},
		"a MachineSet's nodes keep it beside what they lose":   {a: []string{"!x=1:NoExecute", "!y:NoExecute"}, list: []string{"~x=1:NoExecute"}, machines: []map[string][]corev1.Taint{{"a": taintsOf(t, "x=1:NoExecute")}}},
		"a MachineSet's node and another one lose it":          {a: []string{"*x=1:NoExecute"}, b: []string{"!x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}, machines: []map[string][]corev1.Taint{{"b": nil}}, want: []string{"contract web:, restarts a1 b1"}},
		"what is of other taints than the changes stays":       {a: []string{"*x=1:NoExecute"}, list: []string{"~x=1:NoExecute"}, others: true, changes: []NodeTaints{without(t, "a")}},
		"what no taint needed before goes with any change too": {list: []string{"~x=1:NoExecute"}, changes: []NodeTaints{without(t, "a")}, want: []string{"contract web:, restarts a1 b1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web", tt.list...)
			w.Rolling.Hold = tt.hold
			nodes := []*snapshot.Node{aNode(t, "a", "gpu", tt.a...), aNode(t, "b", "cpu", tt.b...)}
			snapshot := aSnapshot(nodes, aPod(t, w, "a1", "a"), aPod(t, w, "b1", "b"))
			named := []taint.ID{{Key: "x", Effect: corev1.TaintEffectNoExecute}, {Key: "y", Effect: corev1.TaintEffectNoExecute}}
			if tt.others {
				named = []taint.ID{{Key: "z", Effect: corev1.TaintEffectNoExecute}}
			}
			before, changes := len(nodes[0].Taints), TaintChanges{Nodes: tt.changes, Brings: tt.brings, Machines: tt.machines, Named: named, Known: []record.Seal{{}}}
			got := writeSteps(Order(snapshot, Change{
				Nodes: tt.own, Workloads: []Tolerations{Retained(w, changes.RetainedClaim())}, Elsewhere: changes,
			}, eviction.ComparisonOff))
			got = slices.DeleteFunc(got, func(step string) bool { return strings.HasPrefix(step, "switch") })
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(nodes[0].Taints) != before {
				t.Error("the shared snapshot has changed")
			}
		})
	}
}

func TestNodePlan_takenAreTaintsThatGoOrChangeTheirValue(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes  [][]string
		wanted []string
		want   string
	}{
		"nothing goes where one comes":      {nodes: [][]string{{"z:NoSchedule"}}, wanted: []string{"x=1:NoExecute"}},
		"a taint that goes":                 {nodes: [][]string{{"*x=1:NoExecute", "z:NoSchedule"}}, wanted: []string{"y:NoExecute"}, want: "x=1:NoExecute"},
		"a value that changes":              {nodes: [][]string{{"*x=1:NoExecute"}}, wanted: []string{"x=2:NoExecute"}, want: "x=1:NoExecute"},
		"of many nodes each is told once":   {nodes: [][]string{{"*x=1:NoExecute"}, {"*x=1:NoExecute", "*w:NoSchedule"}}, wanted: []string{"y:NoExecute"}, want: "w:NoSchedule, x=1:NoExecute"},
		"what does not change is not taken": {nodes: [][]string{{"*x=1:NoExecute"}}, wanted: []string{"x=1:NoExecute"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var nodes []*snapshot.Node
			for i, taints := range tt.nodes {
				nodes = append(nodes, aNode(t, strings.Repeat("n", i+1), "gpu", taints...))
			}
			if got := taint.FormatAll(PlanNodes(slices.Clone(nodes), desire(t, pool(t, "gpu"), tt.wanted...)).Taken()); got != tt.want {
				t.Errorf("%q is taken, want %q", got, tt.want)
			}
		})
	}
}

func TestTaintChanges_bringingTakesNothingAway(t *testing.T) {
	t.Parallel()
	changes := TaintChanges{
		Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "x:NoExecute")}, Brings: []NodeTaints{desire(t, pool(t, "web"), "y:NoExecute")},
		Machines: []map[string][]corev1.Taint{{"a": taintsOf(t, "z:NoExecute")}}, Named: taint.IDs(taintsOf(t, "z:NoExecute")),
	}
	got := changes.Bringing()
	if len(got.Nodes)+len(got.Named)+len(got.Known) > 0 || len(got.Brings) != 2 || len(got.Machines) != 1 || len(got.RetainedClaim().Named) > 0 || len(changes.RetainedClaim().Named) == 0 {
		t.Errorf("got %+v", got)
	}
}

func TestPolicies_Has(t *testing.T) {
	t.Parallel()
	var p Policies
	if p.Has("a") {
		t.Error("a resource that has told of no policy has one")
	}
	if p.Note("a", admission.Policy{}); !p.Has("a") || p.Has("b") {
		t.Error("the policy is that of another resource")
	}
}
