// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func taintsOf(t *testing.T, notations ...string) []corev1.Taint {
	t.Helper()
	var out []corev1.Taint
	for _, n := range notations {
		x, err := taint.Parse(n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

// aNode has the label pool=POOL and taints; those after a "*" are marked as of
// generation g2, those after a "!" as another owner's.
func aNode(t *testing.T, name, pool string, notations ...string) *snapshot.Node {
	t.Helper()
	n := &snapshot.Node{Name: name, Labels: map[string]string{"pool": pool}}
	for _, s := range notations {
		x := taintsOf(t, strings.TrimLeft(s, "*!"))[0]
		n.Taints = append(n.Taints, x)
		switch s[0] {
		case '*':
			n.Record = append(n.Record, taint.Mark{Key: x.Key, Effect: x.Effect, Owner: "me", Generation: "g2"})
		case '!':
			n.Record = append(n.Record, taint.Mark{Key: x.Key, Effect: x.Effect, Owner: "other", Generation: "g9"})
		}
	}
	return n
}

func pool(t *testing.T, name string) Target {
	t.Helper()
	selector, err := labels.Parse("pool=" + name)
	if err != nil {
		t.Fatal(err)
	}
	return Target{Selector: selector}
}

func desire(t *testing.T, target Target, notations ...string) NodeTaints {
	t.Helper()
	return NodeTaints{Target: target, Claim: taint.Claim{Owner: "me", Generation: "g2", Taints: taintsOf(t, notations...)}}
}

// steps writes the switches as "node: taints after", with "leaves" for leavers.
func steps(p NodePlan) []string {
	var out []string
	for _, s := range p.Switches {
		line := s.Node.Name + ": " + taint.FormatAll(s.Merged.Taints)
		if s.Leaving {
			line = "leaves " + line
		}
		out = append(out, line)
	}
	return out
}

func refusals(p NodePlan) []string {
	var out []string
	for _, r := range p.Refusals {
		switch {
		case r.Conflict != nil:
			out = append(out, r.Node+": "+r.ID.String()+" of \""+r.Conflict.Owner+"\"")
		default:
			out = append(out, r.Node+": "+r.Why)
		}
	}
	return out
}

func TestTarget(t *testing.T) {
	t.Parallel()
	n := aNode(t, "n1", "gpu")
	tests := []struct {
		name   string
		target Target
		meant  bool
		text   string
	}{
		{name: "a node by its name", target: Target{Name: "n1"}, meant: true, text: "node/n1"},
		{name: "another node's name", target: Target{Name: "n2"}, text: "node/n2"},
		{name: "a selector that matches", target: pool(t, "gpu"), meant: true, text: "selector/pool=gpu"},
		{name: "a selector that does not", target: pool(t, "cpu"), text: "selector/pool=cpu"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.target.Matches(n) != tt.meant || tt.target.String() != tt.text {
				t.Errorf("matches %t, %s", !tt.meant, tt.target)
			}
		})
	}
}

func TestPlanNodes(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		nodes   []*snapshot.Node
		desired NodeTaints

		steps      []string
		refusals   []string
		matched    int
		deviations map[string]taint.Status
	}{
		{
			name:    "arrivals come before leavers, each by name",
			nodes:   []*snapshot.Node{aNode(t, "d", "gpu"), aNode(t, "a", "cpu", "*x:NoExecute"), aNode(t, "c", "cpu", "*x:NoExecute"), aNode(t, "b", "gpu")},
			desired: desire(t, pool(t, "gpu"), "x:NoExecute"),
			steps:   []string{"b: x:NoExecute", "d: x:NoExecute", "leaves a: ", "leaves c: "}, matched: 2,
			deviations: map[string]taint.Status{"a": taint.Different, "b": taint.Missing, "c": taint.Different, "d": taint.Missing},
		},
		{
			name: "a node leaves by its record alone",
			nodes: []*snapshot.Node{
				aNode(t, "same-taint", "cpu", "x:NoExecute"), aNode(t, "of-another", "cpu", "!x:NoExecute"), aNode(t, "ours", "cpu", "z:NoSchedule", "*x:NoExecute"),
			},
			desired: desire(t, pool(t, "gpu"), "x:NoExecute"), steps: []string{"leaves ours: z:NoSchedule"},
			deviations: map[string]taint.Status{"ours": taint.Different},
		},
		{
			name: "a named node is the only one that is meant", matched: 1, steps: []string{"b: x:NoExecute"}, deviations: map[string]taint.Status{"b": taint.Missing},
			nodes: []*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "gpu")}, desired: desire(t, Target{Name: "b"}, "x:NoExecute"),
		},
		{name: "a named node that is not there is no step", nodes: []*snapshot.Node{aNode(t, "a", "gpu")}, desired: desire(t, Target{Name: "b"}, "x:NoExecute")},
		{
			name: "nodes as wanted are no step", matched: 2, desired: desire(t, pool(t, "gpu"), "x:NoExecute"),
			nodes: []*snapshot.Node{aNode(t, "a", "gpu", "*x:NoExecute"), aNode(t, "b", "gpu", "z:NoSchedule", "*x:NoExecute")},
		},
		{
			name: "a missing entry is told rather than one that differs", matched: 2, desired: desire(t, pool(t, "gpu"), "x=2:NoExecute", "y:NoExecute"),
			nodes: []*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute"), aNode(t, "b", "gpu", "*x=1:NoExecute", "*y:NoExecute")},
			steps: []string{"a: x=2:NoExecute, y:NoExecute", "b: x=2:NoExecute, y:NoExecute"}, deviations: map[string]taint.Status{"a": taint.Missing, "b": taint.Different},
		},
		{
			name: "conflicts name the owner, in the order of nodes and claim", matched: 2, desired: desire(t, pool(t, "gpu"), "x:NoExecute", "y:NoExecute"),
			nodes:    []*snapshot.Node{aNode(t, "b", "gpu", "y:NoExecute", "!x:NoExecute"), aNode(t, "a", "gpu", "x:NoExecute")},
			refusals: []string{`a: x:NoExecute of ""`, `b: x:NoExecute of "other"`, `b: y:NoExecute of ""`}, deviations: map[string]taint.Status{"a": taint.Missing, "b": taint.Different},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := PlanNodes(tt.nodes, tt.desired)
			for _, diff := range []string{
				cmp.Diff(tt.steps, steps(p)), cmp.Diff(tt.refusals, refusals(p)), cmp.Diff(tt.matched, p.Matched),
				cmp.Diff(tt.deviations, p.Deviations, cmpopts.EquateEmpty()),
			} {
				if diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestPlanNodes_refusesARecordThatNoAnnotationCanHold: the API server would refuse it at apply.
func TestPlanNodes_refusesARecordThatNoAnnotationCanHold(t *testing.T) {
	t.Parallel()
	for size, refused := range map[int]bool{100: false, 4000: true} {
		claim := taint.Claim{Owner: "me", Generation: "g"}
		for i := range size {
			claim.Taints = append(claim.Taints, corev1.Taint{Key: strings.Repeat("k", 60) + strconv.Itoa(i), Effect: corev1.TaintEffectNoSchedule})
		}
		plan := PlanNodes([]*snapshot.Node{{Name: "a"}}, NodeTaints{Target: Target{Name: "a"}, Claim: claim})
		if got := len(plan.Refusals) > 0 && strings.Contains(plan.Refusals[0].Why, "the limit for all is 262144"); got != refused {
			t.Errorf("%d taints: refused with %v, want %t", size, plan.Refusals, refused)
		}
	}
}

func TestPlanNodes_refusesAbsentTaintsOfTheMachineConfigOperator(t *testing.T) {
	t.Parallel()
	const controlPlane, master, other = "node-role.kubernetes.io/control-plane:NoSchedule", "node-role.kubernetes.io/master:NoSchedule", "other:NoSchedule"
	tests := []struct {
		name    string
		absent  string
		managed bool
		release bool
		refused bool
	}{
		{name: "the control-plane taint where the operator puts it back", absent: controlPlane, managed: true, refused: true},
		{name: "the master taint where the operator puts it back", absent: master, managed: true, refused: true},
		{name: "the control-plane taint where no operator is", absent: controlPlane},
		{name: "another taint where the operator is", absent: other, managed: true},
		{name: "a release gives up and is not refused", absent: controlPlane, managed: true, release: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			n := aNode(t, "cp", "gpu", tt.absent)
			n.MachineConfig = tt.managed
			d := desire(t, Target{Name: "cp"})
			d.Claim.Absent, d.Claim.Release = []taint.ID{taint.IDOf(n.Taints[0])}, tt.release
			p := PlanNodes([]*snapshot.Node{n}, d)
			if refused := len(p.Refusals) > 0; refused != tt.refused {
				t.Errorf("refused %t, want %t: %v", refused, tt.refused, refusals(p))
			}
			if tt.refused && !strings.Contains(p.Refusals[0].Why, "mastersSchedulable") {
				t.Errorf("the refusal %q does not name the way out", p.Refusals[0].Why)
			}
		})
	}
}

func TestPlanNodes_tellsWhereItTakesOver(t *testing.T) {
	t.Parallel()
	ours := func(name string) *snapshot.Node { return aNode(t, name, "gpu", "*x:NoExecute") }
	d := desire(t, pool(t, "gpu"), "x:NoExecute")
	d.Claim.Generation, d.Claim.TakeOver = "g3", true
	p := PlanNodes([]*snapshot.Node{ours("b"), ours("a"), aNode(t, "c", "gpu")}, d)
	if diff := cmp.Diff([]string{"a", "b"}, p.TakenOver); diff != "" {
		t.Error(diff)
	}
	// A plan names what a record says to be restored: others may have written it.
	removed := aNode(t, "d", "gpu")
	removed.Record = taint.Record{{Key: "y", Effect: "NoExecute", Owner: "me", Generation: "g2", Absent: true, Previous: new("1")}}
	d.Claim.Absent = []taint.ID{{Key: "y", Effect: "NoExecute"}}
	if got := PlanNodes([]*snapshot.Node{removed}, d).TakenOver; !slices.Equal(got, []string{"d (a destroy restores y=1:NoExecute)"}) {
		t.Errorf("taken over is %q", got)
	}
	// The merge restores no value that no taint can have, so the plan promises none.
	removed.Record[0].Previous = new("1 and more")
	if got := PlanNodes([]*snapshot.Node{removed}, d).TakenOver; !slices.Equal(got, []string{"d"}) {
		t.Errorf("taken over is %q", got)
	}
	if _, deviates := p.Deviations["a"]; deviates {
		t.Error("a node that is as wanted deviates only because its mark changes hands")
	}
}

func TestPlanNodes_ofADestroyGivesUpEverywhere(t *testing.T) {
	t.Parallel()
	d := desire(t, pool(t, "gpu"), "x:NoExecute")
	d.Claim.Release = true
	p := PlanNodes([]*snapshot.Node{aNode(t, "b", "gpu", "*x:NoExecute"), aNode(t, "a", "cpu", "*x:NoExecute"), aNode(t, "c", "gpu", "x:NoExecute")}, d)
	if diff := cmp.Diff([]string{"b: ", "leaves a: "}, steps(p)); diff != "" {
		t.Error(diff)
	}
}

func TestPlanNodes_releasesOnlyMarkedImportsOfNodesThatLeave(t *testing.T) {
	t.Parallel()
	x := taint.ID{Key: "x", Effect: "NoExecute"}
	marked, unmarked := aNode(t, "marked", "cpu", "*x:NoExecute"), aNode(t, "unmarked", "cpu", "x:NoExecute")
	d := desire(t, pool(t, "gpu"), "x:NoExecute")
	d.Claim.Generation = "g3"
	d.Claim.Imported = map[taint.ID][]string{x: {"g2"}}
	if diff := cmp.Diff([]string{"leaves marked: "}, steps(PlanNodes([]*snapshot.Node{marked, unmarked}, d))); diff != "" {
		t.Error(diff)
	}
	d.Claim.Imported = map[taint.ID][]string{x: {""}}
	if diff := cmp.Diff([]string(nil), steps(PlanNodes([]*snapshot.Node{marked, unmarked}, d))); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(d.Claim.Imported[x], []string{""}) || len(d.Claim.Imported) != 1 {
		t.Error("planning wrote into the claim")
	}
}

func TestNodePlan_changeBroughtAndHarmless(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		node     *snapshot.Node
		wants    []string
		brought  []string
		harmless bool
	}{
		{name: "a new taint is brought", node: aNode(t, "n", "gpu"), wants: []string{"x:NoExecute"}, brought: []string{"x:NoExecute"}},
		{name: "another value is brought", node: aNode(t, "n", "gpu", "*x=1:NoExecute"), wants: []string{"x=2:NoExecute"}, brought: []string{"x=2:NoExecute"}},
		{name: "NoSchedule is brought and is not harmless to scheduling", node: aNode(t, "n", "gpu"), wants: []string{"x:NoSchedule"}, brought: []string{"x:NoSchedule"}},
		{name: "PreferNoSchedule is harmless", node: aNode(t, "n", "gpu"), wants: []string{"x:PreferNoSchedule"}, brought: []string{"x:PreferNoSchedule"}, harmless: true},
		{name: "what is only removed is harmless", node: aNode(t, "n", "gpu", "z:NoSchedule", "*x:NoExecute"), harmless: true},
		{name: "what is kept is not brought", node: aNode(t, "n", "gpu", "*x:NoExecute", "*y:NoExecute"), wants: []string{"x:NoExecute"}, harmless: true},
		{name: "brought taints are sorted", node: aNode(t, "n", "gpu"), wants: []string{"b:NoExecute", "a:NoSchedule", "a:NoExecute"}, brought: []string{"a:NoExecute", "a:NoSchedule", "b:NoExecute"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := PlanNodes([]*snapshot.Node{tt.node}, desire(t, pool(t, "gpu"), tt.wants...))
			if diff := cmp.Diff(taintsOf(t, tt.brought...), p.Brought()); diff != "" {
				t.Error(diff)
			}
			if p.EvictsNothing() != tt.harmless {
				t.Errorf("harmless %t, want %t", !tt.harmless, tt.harmless)
			}
			change := p.Change()
			if diff := cmp.Diff(p.Switches[0].Merged.Taints, change.Taints["n"]); diff != "" || len(change.Taints) != 1 || len(change.Drains) > 0 {
				t.Errorf("the change is %v: %s", change, diff)
			}
		})
	}
}

func TestNodePlan_bringsATaintOnceForManyNodes(t *testing.T) {
	t.Parallel()
	p := PlanNodes([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "gpu"), aNode(t, "c", "gpu", "*x:NoExecute")}, desire(t, pool(t, "gpu"), "x:NoExecute"))
	if diff := cmp.Diff(taintsOf(t, "x:NoExecute"), p.Brought()); diff != "" || len(p.Change().Taints) != 2 {
		t.Errorf("%v: %s", p.Change(), diff)
	}
}

func TestNodePlan_bringsBackWhatStoodThereBefore(t *testing.T) {
	t.Parallel()
	n := aNode(t, "a", "cpu")
	was := "1"
	n.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "me", Generation: "g2", Absent: true, Previous: &was}}
	p := PlanNodes([]*snapshot.Node{n}, desire(t, pool(t, "gpu")))
	if diff := cmp.Diff(taintsOf(t, "x=1:NoExecute"), p.Brought()); diff != "" || p.EvictsNothing() {
		t.Errorf("a node that leaves gets its old taint back, which can evict: %s", diff)
	}
}
