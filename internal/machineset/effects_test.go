// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

func TestDeviations_tellHowMachinesAndNodesDiffer(t *testing.T) {
	t.Parallel()
	for machine, want := range map[string]taint.Status{
		"a": "", "a old": taint.Different, "a stale": taint.Different, "a bare": "", "a old deleting": "", "a nodeless": "", "a old nodeless": taint.Different, "a unready": "", "a others": "",
	} {
		o := scene(t, Rolling, 1, 1, 0, machine)
		got := Deviations(o, desire(t, Rolling, wantedTaint))
		if status, told := got["a"]; status != want || told != (want != "") {
			t.Errorf("%s differs as %q, want %q", machine, status, want)
		}
	}
	// One that is missing lets pods in, one that differs does not.
	o := scene(t, Rolling, 1, 1, 0, "a old")
	o.Set.Taints, o.Set.Record = append(o.Set.Taints, taintsOf(t, "more:NoSchedule")...), append(o.Set.Record, taint.Mark{Key: "more", Effect: "NoSchedule", Owner: "terraform/gpu", Generation: "g1"})
	if got := Deviations(o, desire(t, Rolling, wantedTaint+" more:NoSchedule")); got["a"] != taint.Missing {
		t.Errorf("a machine that lacks one entry differs as %q", got["a"])
	}
	// The first one of the template as well as any other.
	o = scene(t, Rolling, 1, 1, 0, "a bare")
	if o.Machines[0].Taints = nil; Deviations(o, desire(t, Rolling, wantedTaint))["a"] != taint.Missing {
		t.Errorf("a machine without any entry differs as %v", Deviations(o, desire(t, Rolling, wantedTaint)))
	}
	// A mark on the node shows that another writer manages the taint there.
	o = scene(t, Rolling, 1, 1, 0, "a stale")
	o.Nodes["node-a"].Record = taint.Record{{Key: "team", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
	if got := Deviations(o, desire(t, Rolling, wantedTaint)); len(got) > 0 {
		t.Errorf("a node of another owner differs: %v", got)
	}
}

// names are those of machines.
func names(machines []*Machine) string {
	var out []string
	for _, m := range machines {
		out = append(out, m.Name)
	}
	return strings.Join(out, " ")
}

func TestPlan_tellsWhichMachinesChangeAndWhichGo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy Strategy
		replicas int
		machines []string
		want     string
		set      func(*Set)

		stale, leaving   string
		repairs          int
		brings, changes  bool
		replaced, begins bool
	}{
		"template_only changes none":                   {strategy: TemplateOnly, replicas: 2, machines: []string{"b old", "a stale"}, want: wantedTaint, set: func(s *Set) { s.Marker = nil }, brings: true, begins: true},
		"in place changes those that differ":           {strategy: InPlace, replicas: 2, machines: []string{"b old", "a", "c bare"}, want: wantedTaint, stale: "b c", brings: true, changes: true},
		"rolling replaces them, and repairs nodes":     {strategy: Rolling, replicas: 3, machines: []string{"b old", "a", "c stale"}, want: wantedTaint, stale: "b", leaving: "b", repairs: 1, brings: true, changes: true, replaced: true},
		"scale_to_zero takes the others too":           {strategy: ScaleToZero, replicas: 2, machines: []string{"b old", "a"}, want: wantedTaint, stale: "b", leaving: "a b", brings: true, changes: true, replaced: true},
		"scale_to_zero takes none without a reason":    {strategy: ScaleToZero, replicas: 2, machines: []string{"b", "a"}, want: wantedTaint, set: func(s *Set) { s.Marker = nil }, brings: true, replaced: true, begins: true},
		"at zero all of them go":                       {strategy: ScaleToZero, machines: []string{"b"}, want: wantedTaint, leaving: "b", brings: true, changes: true, replaced: true},
		"what is as wanted changes nothing":            {strategy: Rolling, replicas: 1, machines: []string{"a"}, want: wantedTaint, set: func(s *Set) { s.Marker = nil }, brings: true, replaced: true, begins: true},
		"what another writer rolls out begins":         {strategy: Rolling, replicas: 1, machines: []string{"a"}, want: wantedTaint, set: func(s *Set) { s.Marker.ID = "another" }, brings: true, replaced: true, begins: true},
		"what is given up brings nothing":              {strategy: InPlace, replicas: 1, machines: []string{"a"}, stale: "a", changes: true},
		"a node alone that differs is a change":        {strategy: Rolling, replicas: 1, machines: []string{"a stale"}, want: wantedTaint, set: func(s *Set) { s.Marker = nil }, repairs: 1, brings: true, changes: true, replaced: true, begins: true},
		"a rollout that goes on is a change by itself": {strategy: Rolling, replicas: 1, machines: []string{"a"}, want: wantedTaint, brings: true, changes: true, replaced: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scene(t, tt.strategy, tt.replicas, 2, 0, tt.machines...)
			if tt.set != nil {
				tt.set(o.Set)
			}
			e := Plan(o, desire(t, tt.strategy, tt.want))
			if names(e.Stale) != tt.stale || names(e.Leaving) != tt.leaving || len(e.NodeRepairs) != tt.repairs {
				t.Errorf("differ %q, go %q, and %d nodes are repaired", names(e.Stale), names(e.Leaving), len(e.NodeRepairs))
			}
			if e.Brings() != tt.brings || e.Changes() != tt.changes || e.Replaced != tt.replaced {
				t.Errorf("brings %t, changes %t, replaces %t", e.Brings(), e.Changes(), e.Replaced)
			}
			if left := Beginning([]Affected{{Observed: o, Effect: e}}); (len(left) == 1) != tt.begins {
				t.Errorf("begins: %t", len(left) == 1)
			}
		})
	}
}

func TestTaintsAfter_areThoseOfTheMachinesThatComeInTheirPlace(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		strategy Strategy
		machines []string
		// want are the nodes with their taints, after a "-" drained, after a "!" without a drain.
		want []string
	}{
		"in place writes to nodes":     {InPlace, []string{"a old", "b", "c bare"}, []string{"node-a team=b:NoExecute", "node-c team=b:NoExecute"}},
		"rolling drains those that go": {Rolling, []string{"a old", "b", "c stale"}, []string{"-node-a team=b:NoExecute", "node-c team=b:NoExecute"}},
		"zero drains all":              {ScaleToZero, []string{"a old", "b others"}, []string{"-node-a team=b:NoExecute", "-node-b team=b:NoExecute, vendor=y:NoSchedule"}},
		"one without a node has none":  {Rolling, []string{"a old nodeless"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := scene(t, tt.strategy, 3, 3, 0, tt.machines...)
			affected := []Affected{{Observed: o, Effect: Plan(o, desire(t, tt.strategy, wantedTaint))}}
			c, after := changeOf(affected, 1), TaintsAfter(affected)
			var got []string
			for _, node := range slices.Sorted(maps.Keys(after)) {
				line := node + " " + taint.FormatAll(after[node])
				if c.Drains[node] {
					line = "-" + line
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestChangeOf_closesNodesOfMachinesThatAreOrWillBeDeleted(t *testing.T) {
	t.Parallel()
	o := scene(t, Rolling, 3, 3, 0, "a old", "b old deleting", "c")
	o.Machines[0].NoDrain = true
	c := changeOf([]Affected{{Observed: o, Effect: Plan(o, desire(t, Rolling, wantedTaint))}}, 1)
	if !c.Closed["node-a"] || !c.Closed["node-b"] || c.Closed["node-c"] {
		t.Errorf("closed are %v", c.Closed)
	}
	if !c.Undrained["node-a"] || c.Drains["node-b"] {
		t.Errorf("drained are %v, and %v not", c.Drains, c.Undrained)
	}
	if len(c.Comes) != 1 || c.Comes[0].Of != o.Set.Title() || c.Comes[0].Count != 2 {
		t.Errorf("there comes %v", c.Comes)
	}
}

// TestAffected_coming: a new machine is like the one that was made last, as far as that is known.
func TestAffected_coming(t *testing.T) {
	t.Parallel()
	sized := func(o *Observed, nodes ...string) {
		for _, name := range nodes {
			o.Nodes["node-"+name].Allocatable = &snapshot.Resources{MilliCPU: 1000}
		}
	}
	for name, tt := range map[string]struct {
		strategy Strategy
		machines []string
		change   func(*Observed)
		like     string
		none     bool
	}{
		"like the one that was made last":         {strategy: Rolling, machines: []string{"c", "b", "a old"}, change: func(o *Observed) { sized(o, "a", "b", "c") }, like: "node-b"},
		"the next where its node has no size yet": {strategy: Rolling, machines: []string{"c", "b", "a old"}, change: func(o *Observed) { sized(o, "a", "c") }, like: "node-a"},
		"the next where it has no node yet":       {strategy: Rolling, machines: []string{"c", "b nodeless", "a old"}, change: func(o *Observed) { sized(o, "a", "c") }, like: "node-a"},
		"like none where no size is known":        {strategy: Rolling, machines: []string{"b", "a old"}},
		"none where machines are written to":      {strategy: InPlace, machines: []string{"b", "a old"}, none: true},
		"none where no machine leaves":            {strategy: Rolling, machines: []string{"b", "a"}, none: true},
		"none where there are to be none":         {strategy: ScaleToZero, machines: []string{"b", "a old"}, change: func(o *Observed) { o.Set.Marker.OriginalReplicas = 0 }, none: true},
	} {
		o := scene(t, tt.strategy, len(tt.machines), len(tt.machines), 0, tt.machines...)
		for _, m := range o.Machines {
			m.Created = time.Unix(map[string]int64{"a": 2, "b": 3, "c": 1}[m.Name], 0)
		}
		if tt.change != nil {
			tt.change(&o)
		}
		got, comes := Affected{Observed: o, Effect: Plan(o, desire(t, tt.strategy, wantedTaint))}.coming()
		if comes == tt.none || got.Like != tt.like {
			t.Errorf("%s: there comes one like %q: %t", name, got.Like, comes)
		}
		if comes && ((got.Node.Allocatable != nil) != (tt.like != "") || taint.FormatAll(got.Node.Taints) != wantedTaint) {
			t.Errorf("%s: it has %s and %v", name, taint.FormatAll(got.Node.Taints), got.Node.Allocatable)
		}
	}
}

func TestAffected_labelsOfANewMachineAreThoseOfAllNodes(t *testing.T) {
	t.Parallel()
	o := scene(t, Rolling, 3, 3, 0, "a old", "b", "c nodeless")
	o.Nodes["node-a"].Labels = map[string]string{"pool": "gpu", "zone": "a", corev1.LabelHostname: "same", "ours": "x", "only": "a", "role": "r"}
	o.Nodes["node-b"].Labels = map[string]string{"pool": "gpu", "zone": "b", corev1.LabelHostname: "same", "ours": "x", "role": "r"}
	o.Nodes["node-b"].LabelRecord = label.Record{{Key: "ours", Owner: "me", Generation: "g"}}
	o.Set.NodeLabels = map[string]string{"tier": "x", "role": "s"}
	if diff := cmp.Diff(map[string]string{"pool": "gpu", "tier": "x", "role": "s"}, Affected{Observed: o}.labels()); diff != "" {
		t.Error(diff)
	}
	none := scene(t, Rolling, 1, 1, 0, "a nodeless")
	none.Set.NodeLabels = map[string]string{"tier": "x"}
	if diff := cmp.Diff(none.Set.NodeLabels, Affected{Observed: none}.labels()); diff != "" {
		t.Errorf("without nodes: %s", diff)
	}
}

func TestImagine_takesWhateverOwnsTheTaints(t *testing.T) {
	t.Parallel()
	o := scene(t, ScaleToZero, 0, 3, 0, "a old")
	o.Set.Taints = taintsOf(t, "team=z:NoExecute gone:NoSchedule stays:NoSchedule")
	absent := []taint.ID{{Key: "gone", Effect: "NoSchedule"}}
	a, d := Imagine(o, taintsOf(t, wantedTaint), absent, Rollout{Strategy: Rolling, MaxUnavailable: 1})
	if got := taint.FormatAll(a.Effect.Template.Taints); got != "stays:NoSchedule, team=b:NoExecute" && got != "team=b:NoExecute, stays:NoSchedule" {
		t.Errorf("the template has %s", got)
	}
	if a.Set.Replicas != 3 || a.Set.Marker != nil || a.Effect.Interrupted != nil || len(a.Effect.Template.Conflicts) > 0 {
		t.Errorf("a rollout that goes on is not over: %d machines, %v", a.Set.Replicas, a.Effect.Interrupted)
	}
	if o.Set.Replicas != 0 || o.Set.Marker == nil || len(o.Set.Taints) != 3 {
		t.Error("what is observed has been changed")
	}
	if d.Rollout.Strategy != Rolling || !slices.Equal(d.Retired, absent) || names(a.Effect.Leaving) != "a" {
		t.Errorf("it is desired %v, and %q go", d, names(a.Effect.Leaving))
	}
}

func TestTarget_namesAndMatchesMachineSets(t *testing.T) {
	t.Parallel()
	selector, err := labels.Parse("pool==gpu")
	if err != nil {
		t.Fatal(err)
	}
	s := &Set{Namespace: "machines", Name: "a", Labels: map[string]string{"pool": "gpu"}}
	for name, tt := range map[string]struct {
		target      Target
		text, place string
		matches     bool
	}{
		"by name":                        {Target{Namespace: "machines", Name: "a"}, "machines/a", `MachineSet "machines/a"`, true},
		"by another name":                {Target{Namespace: "machines", Name: "b"}, "machines/b", `MachineSet "machines/b"`, false},
		"by a selector":                  {Target{Namespace: "machines", Selector: selector}, "machines/pool=gpu", `MachineSets matching "pool==gpu"`, true},
		"by a selector of a namespace":   {Target{Namespace: "others", Selector: selector}, "others/pool=gpu", `MachineSets matching "pool==gpu"`, false},
		"by its name in another one":     {Target{Namespace: "others", Name: "a"}, "others/a", `MachineSet "others/a"`, false},
		"by a selector of another value": {Target{Namespace: "machines", Selector: labels.SelectorFromSet(labels.Set{"pool": "web"})}, "machines/pool=web", `MachineSets matching "pool=web"`, false},
	} {
		if got := tt.target.String(); got != tt.text {
			t.Errorf("%s: it is %s", name, got)
		}
		// A user's text is not shortened there.
		if got := tt.target.Place(); got != tt.place && got != strings.ReplaceAll(tt.place, "==", "=") {
			t.Errorf("%s: its place is %s", name, got)
		}
		if got := tt.target.Matches(s); got != tt.matches {
			t.Errorf("%s: it matches %t", name, got)
		}
	}
}

func TestIntent_tellsApartWhatItWrites(t *testing.T) {
	t.Parallel()
	m := &Machine{Namespace: "machines", Name: "a"}
	for want, intent := range map[string]Intent{
		"machineset": {Kind: WriteSet}, "machine/machines/a": {Kind: WriteMachine, Machine: m}, "node/n": {Kind: WriteNode, Machine: m, Node: &snapshot.Node{Name: "n"}},
	} {
		if got := intent.About(); got != want {
			t.Errorf("it is about %s, want %s", got, want)
		}
	}
}

// TestPlanLabels_tellsHowTheLabelsOfNodesDiffer: a preview shows it.
func TestPlanLabels_tellsHowTheLabelsOfNodesDiffer(t *testing.T) {
	t.Parallel()
	o := scene(t, Rolling, 2, 2, 0, "a", "b")
	o.Set.NodeLabels = map[string]string{"tier": "y", "old": "1"}
	for _, key := range []string{"tier", "old"} {
		o.Set.LabelRecord = append(o.Set.LabelRecord, label.Mark{Key: key, Owner: "me", Generation: "g2"})
	}
	o.Nodes["node-a"].Labels = map[string]string{"tier": "y", "old": "1"}
	o.Nodes["node-b"].Labels = map[string]string{"tier": "x", "more": "m"}
	l := PlanLabels(o, label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"tier": "x", "more": "m"}})
	if len(l.Nodes) != 1 || l.Nodes[0].Node.Name != "node-a" {
		t.Fatalf("the nodes %v change", l.Nodes)
	}
	got := l.Nodes[0].Merged
	for what, list := range map[string][]string{"old": got.Removed, "more": got.Missing, "tier": got.Different} {
		if !slices.Equal(list, []string{what}) {
			t.Errorf("%v are told for %s", list, what)
		}
	}
	if diff := cmp.Diff(map[string]string{"tier": "x", "more": "m"}, got.Labels); diff != "" || !got.Changed {
		t.Errorf("they become: %s", diff)
	}
}

func TestMarker_ofNoRolloutIsEmpty(t *testing.T) {
	t.Parallel()
	if got := (*Marker)(nil).String(); got != "" {
		t.Errorf("it is %q", got)
	}
	if m, err := ParseMarker(""); m != nil || err != nil {
		t.Errorf("an empty one is read as %v (%v)", m, err)
	}
	m := &Marker{ID: "me", Strategy: Surge, OriginalReplicas: 2, Surge: 2, TargetTaints: []string{wantedTaint}, Machines: []types.UID{"a"}}
	again, err := ParseMarker(m.String())
	if diff := cmp.Diff(m, again); err != nil || diff != "" {
		t.Errorf("it is read as: %s (%v)", diff, err)
	}
}

// TestDesired_ownsImportedEntriesWhereItGivesThemUp: no mark tells of them.
func TestDesired_ownsImportedEntriesWhereItGivesThemUp(t *testing.T) {
	t.Parallel()
	id := taint.ID{Key: "spare", Effect: corev1.TaintEffectNoSchedule}
	for _, release := range []bool{true, false} {
		s := &Set{Namespace: OperatorNamespace, Name: "gpu", Taints: taintsOf(t, "spare:NoSchedule")}
		d := desire(t, Rolling, wantedTaint)
		d.Claim.Release, d.Claim.Imported = release, map[taint.ID][]string{id: {""}}
		if got := slices.Contains(d.Merge(s).Ours, id); got != release {
			t.Errorf("given up %t, ours %t", release, got)
		}
	}
}
