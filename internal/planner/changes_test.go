// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestNodePlan_mayStrandPodsWhereATaintGoesAndOneComesThatKeepsThemAway(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before, after []string
		want          bool
	}{
		"a value changes":               {[]string{"x=1:NoExecute"}, []string{"x=2:NoExecute"}, true},
		"one goes and another comes":    {[]string{"x:NoExecute"}, []string{"y:NoSchedule"}, true},
		"one comes beside another":      {[]string{"x:NoExecute"}, []string{"x:NoExecute", "y:NoSchedule"}, false},
		"one goes":                      {[]string{"x:NoExecute", "y:NoSchedule"}, []string{"x:NoExecute"}, false},
		"one comes that keeps none out": {[]string{"x:NoExecute"}, []string{"y:PreferNoSchedule"}, false},
		"nothing changes":               {[]string{"x:NoExecute"}, []string{"x:NoExecute"}, false},
	} {
		p := NodePlan{Switches: []Switch{{Node: aNode(t, "a", "gpu", tt.before...), Merged: taint.Merged{Taints: taintsOf(t, tt.after...)}}}}
		if got := p.MayStrand(); got != tt.want {
			t.Errorf("%s: may strand %t", name, got)
		}
	}
}

func TestTaken_areTheTaintsThatNodesLose(t *testing.T) {
	t.Parallel()
	nodes := []*snapshot.Node{aNode(t, "a", "gpu", "y:NoExecute", "x=1:NoExecute"), aNode(t, "b", "gpu", "x=2:NoExecute"), aNode(t, "c", "gpu", "z:NoExecute"), aNode(t, "d", "gpu", "x=1:NoExecute")}
	after := map[string][]corev1.Taint{"a": nil, "b": taintsOf(t, "x=3:NoExecute"), "d": taintsOf(t, "w:NoExecute")}
	want := taintsOf(t, "x=1:NoExecute", "x=2:NoExecute", "y:NoExecute")
	if got := Taken(nodes, after); !slices.Equal(got, want) {
		t.Errorf("taken: %s, want %s", taint.FormatAll(got), taint.FormatAll(want))
	}
	if got := Taken(nodes, map[string][]corev1.Taint{"c": taintsOf(t, "z:NoExecute", "v:NoExecute")}); len(got) > 0 {
		t.Errorf("a node that keeps its own loses %s", taint.FormatAll(got))
	}
}

func TestSwitching_gathersAllChanges(t *testing.T) {
	t.Parallel()
	var s Switching
	x, y := taint.ID{Key: "x", Effect: "NoExecute"}, taint.ID{Key: "y", Effect: "NoExecute"}
	s.Note(TaintChanges{Nodes: []NodeTaints{{Target: Target{Name: "a"}}}, Named: []taint.ID{x}})
	got := s.Note(TaintChanges{Nodes: []NodeTaints{{Target: Target{Name: "b"}}}, Machines: []map[string][]corev1.Taint{{"m": nil}}, Named: []taint.ID{y}})
	if len(got.Nodes) != 2 || got.Nodes[0].Target.Name != "a" || len(got.Machines) != 1 || !slices.Equal(got.Named, []taint.ID{x, y}) {
		t.Errorf("all changes are %v", got)
	}
}

func TestPolicies_countWhereTheirResourceIsLinked(t *testing.T) {
	t.Parallel()
	var p Policies
	given := func(linked ...string) int {
		pod := admission.Pod{Namespace: "shop", Requests: func(string) bool { return false }}
		policies, _ := p.Over(nil, linked).Applying(pod)
		return len(policies)
	}
	if got := given("a"); got != 0 {
		t.Errorf("%d policies apply before any is told", got)
	}
	for id, key := range map[string]string{"a": "x", "b": "y"} {
		p.Note(id, admission.Policy{Name: id, Match: admission.Match{All: true}, Tolerations: tols(t, key+" Exists")})
	}
	for _, tt := range []struct {
		linked []string
		want   int
	}{{nil, 0}, {[]string{"a"}, 1}, {[]string{"a", "b"}, 2}, {[]string{"c"}, 0}} {
		if got := given(tt.linked...); got != tt.want {
			t.Errorf("linked with %v %d policies apply, want %d", tt.linked, got, tt.want)
		}
	}
}

func TestDisplaced_lastsAsLongAsTheShortestOfItsLosses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		losses []Loss
		want   int64
	}{{nil, toleration.Forever}, {[]Loss{{Lasts: 60}, {Lasts: 30}, {Lasts: 90}}, 30}, {[]Loss{{Lasts: 5}, {Lasts: toleration.Untolerated}}, toleration.Untolerated}} {
		if got := (Displaced{Losses: tt.losses}).Lasts(); got != tt.want {
			t.Errorf("%v last %d, want %d", tt.losses, got, tt.want)
		}
	}
}

// TestTolerations_areGivenUpWhereTheTemplateIsFixed and nothing is wanted any more: what cannot
// be taken away goes with the object.
func TestTolerations_areGivenUpWhereTheTemplateIsFixed(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		immutable, release bool
		wanted             []string
		template           bool
		list               int
	}{
		"a release of a fixed template":              {immutable: true, release: true, wanted: []string{"x=1:NoExecute"}, list: 1},
		"nothing wanted of a fixed template":         {immutable: true, list: 1},
		"another one wanted of a fixed template":     {immutable: true, wanted: []string{"y=1:NoExecute"}, template: true, list: 1},
		"a release of one that can be written":       {release: true, template: true},
		"nothing wanted of one that can be written":  {template: true},
		"the same wanted of a fixed template":        {immutable: true, wanted: []string{"x=1:NoExecute"}, list: 1},
		"the same wanted of one that can be written": {wanted: []string{"x=1:NoExecute"}, list: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aWorkload(t, "Deployment", "web", "*x=1:NoExecute")
			w.Rolling.Immutable = tt.immutable
			change := Tolerations{Workload: w, Claim: toleration.Claim{Owner: "me", Generation: "g2", Release: tt.release, Tolerations: tols(t, tt.wanted...)}}
			got := change.Merge(&snapshot.Snapshot{}, eviction.ComparisonOff)
			if got.Template != tt.template || len(got.Tolerations) != tt.list {
				t.Errorf("the template changes: %t, with %v", got.Template, got.Tolerations)
			}
			if owned := change.Claim.Owns(got.Record); owned == (tt.release || len(tt.wanted) == 0) {
				t.Errorf("ours: %t", owned)
			}
		})
	}
}

func TestRequires_oneOfTheLabelsWithOneOfTheValues(t *testing.T) {
	t.Parallel()
	removed := map[string][]string{"tier": {"x", "y"}, "zone": {"z"}}
	for name, tt := range map[string]struct {
		template map[string]string
		want     bool
	}{
		"nothing":       {nil, false},
		"another label": {map[string]string{"role": "x"}, false},
		"another value": {map[string]string{"tier": "z"}, false},
		"one of two":    {map[string]string{"tier": "y"}, true},
		"the second":    {map[string]string{"tier": "w", "zone": "z"}, true},
	} {
		if got := requires(tt.template, removed); got != tt.want {
			t.Errorf("a template with %s requires it: %t", name, got)
		}
	}
}

func TestStep_writesTheTemplateWhereTolerationsOrPinsChange(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		step Step
		want bool
	}{
		{Step{}, false},
		{Step{Merged: toleration.Merged{Template: true}}, true},
		{Step{Pins: label.Merged{Changes: map[string]*string{"tier": nil}}}, true},
		{Step{Merged: toleration.Merged{Changed: true}, Pins: label.Merged{Changed: true}}, false},
	} {
		if got := tt.step.Template(); got != tt.want {
			t.Errorf("%v writes the template: %t", tt.step, got)
		}
	}
}

// TestDesiredSets_ofEachMachineSet: a MachineSet outside the target gives up all owned entries.
func TestDesiredSets_ofEachMachineSet(t *testing.T) {
	t.Parallel()
	d := DesiredSets{
		Target:  machineset.Target{Namespace: "machines", Name: "pool"},
		Desired: machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: "g2", Taints: taintsOf(t, "x:NoExecute")}, Rollout: machineset.Rollout{Strategy: machineset.Rolling}},
		Labels:  label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"tier": "x"}, TakeOver: true}, AtOnce: 3,
	}
	set := func(name string) *machineset.Set { return &machineset.Set{Namespace: "machines", Name: name} }
	meant := d.Of(machineset.Observed{Set: set("pool")})
	if diff := cmp.Diff(d.Labels, meant.Labels); diff != "" || meant.Desired.Claim.Release || len(meant.Desired.Claim.Taints) != 1 {
		t.Errorf("one that is meant: %v %s", meant.Desired, diff)
	}
	other := d.Of(machineset.Observed{Set: set("other")})
	if l := other.Labels; !l.Release || l.TakeOver || l.Labels != nil || !other.Desired.Claim.Release {
		t.Errorf("one that is not meant: %v and %v", other.Desired, l)
	}
	labelled, tainted, marked := set("b-labelled"), set("a-tainted"), set("c-others")
	labelled.LabelRecord = label.Record{{Key: "tier", Owner: "me", Generation: "g2"}}
	tainted.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "me", Generation: "g2"}}
	marked.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
	var names []string
	changes := d.Changes([]machineset.Observed{{Set: set("pool")}, {Set: labelled}, {Set: marked}, {Set: tainted}, {Set: set("none")}})
	for _, c := range changes.Sets {
		names = append(names, c.Set.Name)
	}
	if diff := cmp.Diff([]string{"a-tainted", "b-labelled", "pool"}, names); diff != "" || changes.AtOnce != 3 {
		t.Errorf("changes: %s, %d at once", diff, changes.AtOnce)
	}
}

func TestChange_TaintsNodes(t *testing.T) {
	t.Parallel()
	nodes := []NodeTaints{{}}
	for name, tt := range map[string]struct {
		change Change
		want   bool
	}{
		"taints of nodes":              {Change{Nodes: nodes}, true},
		"nothing":                      {Change{}, false},
		"labels beside taints":         {Change{Nodes: nodes, Labels: []NodeLabels{{}}}, false},
		"MachineSets beside taints":    {Change{Nodes: nodes, MachineSets: MachineSets{Sets: []SetChange{{}}}}, false},
		"workloads beside taints":      {Change{Nodes: nodes, Workloads: []Tolerations{{}}}, false},
		"workloads alone":              {Change{Workloads: []Tolerations{{}}}, false},
		"an admission policy as well":  {Change{Nodes: nodes, Policies: []DesiredPolicy{{}}}, false},
		"a drain":                      {Change{Nodes: nodes, Drain: &NodeDrain{}}, false},
		"tolerations elsewhere do not": {Change{Nodes: nodes, Planned: map[snapshot.WorkloadKey]eviction.Planned{{}: {}}}, true},
	} {
		if got := tt.change.TaintsNodes(); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
