// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// reporting is what a step does to one pod.
func reporting(pod string, verdict eviction.Verdict, stranded bool) *eviction.Report {
	return &eviction.Report{Pods: []eviction.PodVerdict{{Pod: &snapshot.Pod{Namespace: "shop", Name: pod}, Verdict: verdict, Stranded: stranded}}}
}

// rollout is a step that rolls MachineSets out. Those of the names after a "~" have begun before.
func rollout(report *eviction.Report, sets ...string) Step {
	s := &SetSwitch{Impact: machineset.Impact{Report: reporting("impact", eviction.EvictedNow, true)}, Begins: machineset.Impact{Report: report}}
	for _, name := range sets {
		a := machineset.Affected{Observed: machineset.Observed{Set: &machineset.Set{Name: strings.TrimPrefix(name, "~")}}}
		if strings.HasPrefix(name, "~") {
			a.Effect.Interrupted = &machineset.Marker{}
		}
		s.Affected = append(s.Affected, a)
	}
	return Step{Kind: ApplyTaints, Switch: s, Report: s.Impact.Report}
}

// TestStep_tellsWhatItDoesToPods: of a rollout of machines what it begins to do.
func TestStep_tellsWhatItDoesToPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		step           Step
		moves, strands bool
	}{
		"one that nothing leaves by":                  {step: Step{Kind: Label}},
		"one by which all pods stay":                  {step: Step{Kind: ApplyTaints, Report: reporting("web", eviction.Stays, false)}},
		"one by which a pod is evicted":               {step: Step{Kind: ApplyTaints, Report: reporting("web", eviction.EvictedNow, false)}, moves: true},
		"one by which a pod may be evicted":           {step: Step{Kind: Expand, Report: reporting("web", eviction.Unknown, false)}, moves: true},
		"one by which a pod stays and is stranded":    {step: Step{Kind: ApplyTaints, Report: reporting("web", eviction.Stays, true)}, strands: true},
		"one by which a pod is evicted and stranded":  {step: Step{Kind: ApplyTaints, Report: reporting("web", eviction.Drained, true)}, moves: true, strands: true},
		"a rollout that begins nothing":               {step: rollout(&eviction.Report{}, "~a")},
		"a rollout that begins and evicts":            {step: rollout(reporting("web", eviction.Drained, false), "a"), moves: true},
		"a rollout whose beginning leaves pods alone": {step: rollout(reporting("web", eviction.Stays, false), "a", "~b")},
	} {
		if got := tt.step.Moves(); got != tt.moves {
			t.Errorf("%s moves pods: %t", name, got)
		}
		if got := tt.step.Strands(); got != tt.strands {
			t.Errorf("%s strands pods: %t", name, got)
		}
	}
}

// TestStep_bringsTaintsThatPodsHaveToTolerate.
func TestStep_bringsTaintsThatPodsHaveToTolerate(t *testing.T) {
	t.Parallel()
	taints := taintsOf(t, "x=1:NoExecute")
	effect := func(ours ...taint.ID) machineset.Affected {
		return machineset.Affected{Effect: machineset.Effect{Template: machineset.Template{Merged: taint.Merged{Taints: taints}, Ours: ours}}}
	}
	id := taint.IDOf(taints[0])
	adds := NodePlan{Switches: []Switch{{Node: &snapshot.Node{Name: "a"}, Merged: taint.Merged{Taints: taints}}}}
	removes := NodePlan{Switches: []Switch{{Node: &snapshot.Node{Name: "a", Taints: taints}}}}
	for name, tt := range map[string]struct {
		step Step
		want bool
	}{
		"labels":                                  {Step{Kind: Label, Nodes: adds}, false},
		"taints that come":                        {Step{Kind: ApplyTaints, Nodes: adds}, true},
		"taints that go":                          {Step{Kind: ApplyTaints, Nodes: removes}, false},
		"a rollout of a template that has some":   {Step{Kind: ApplyTaints, Switch: &SetSwitch{Affected: []machineset.Affected{effect(), effect(id)}}}, true},
		"a rollout of a template that loses some": {Step{Kind: ApplyTaints, Nodes: adds, Switch: &SetSwitch{Affected: []machineset.Affected{effect(taint.ID{Key: "y"})}}}, false},
	} {
		if got := tt.step.Brings(); got != tt.want {
			t.Errorf("%s bring taints: %t", name, got)
		}
	}
}

// TestSetSwitch_movesPodsWhereMachinesAreReplacedOrWritten.
func TestSetSwitch_movesPodsWhereMachinesAreReplacedOrWritten(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		effect machineset.Effect
		want   bool
	}{
		"a template alone":          {machineset.Effect{Template: machineset.Template{Merged: taint.Merged{Changed: true}}}, false},
		"a machine that is written": {machineset.Effect{Stale: []*machineset.Machine{{}}}, true},
		"a node that is repaired":   {machineset.Effect{NodeRepairs: []machineset.Intent{{}}}, true},
	} {
		s := SetSwitch{Affected: []machineset.Affected{{}, {Effect: tt.effect}}}
		if got := s.Moves(); got != tt.want {
			t.Errorf("%s moves pods: %t", name, got)
		}
	}
}

// TestPlan_countsWhatItBegins: what an earlier apply has begun goes on whatever it does.
func TestPlan_countsWhatItBegins(t *testing.T) {
	t.Parallel()
	refused := rollout(reporting("c", eviction.Drained, false), "c")
	refused.Switch.Begins.Refused, refused.Switch.Begins.Refusals = &machineset.Set{Name: "c"}, []machineset.Refusal{{Why: "no"}}
	goesOn := rollout(reporting("b", eviction.Drained, false), "b", "~d")
	plan := Plan{Steps: []Step{
		{Kind: Label}, {Kind: ApplyTaints, Report: reporting("a", eviction.EvictedNow, false)}, goesOn, refused, {Kind: Contract, Retained: true}, {Kind: Drained, Report: reporting("e", eviction.Stays, false), Drain: &NodeDrain{}},
	}}
	kinds := func(p Plan) string {
		var out []string
		for _, s := range p.Steps {
			word := string(s.Kind)
			if s.Switch != nil {
				word += " " + s.Switch.Affected[0].Set.Name
			}
			out = append(out, word)
		}
		return strings.Join(out, ", ")
	}
	if got := kinds(plan.Beginning()); got != "label, switch, switch c, contract, drain" {
		t.Errorf("it begins %s", got)
	}
	if len(plan.Steps) != 6 {
		t.Errorf("the plan itself has %d steps left", len(plan.Steps))
	}
	steps, whole := plan.Impact()
	var pods []string
	for _, v := range whole.Pods {
		pods = append(pods, v.Pod.Name)
	}
	if got := kinds(Plan{Steps: steps}); got != "switch, switch b, switch c, drain" || strings.Join(pods, " ") != "a b c e" {
		t.Errorf("%s concern the pods %v", got, pods)
	}
	if set, why := plan.Refused(); set == nil || set.Name != "c" || len(why) != 1 {
		t.Errorf("it refuses %v: %v", set, why)
	}
	if set, why := (Plan{Steps: plan.Steps[:3]}).Refused(); set != nil || why != nil {
		t.Errorf("it refuses %v: %v", set, why)
	}
	plan.Refusals = []Refusal{{Node: "a"}}
	own, others := plan.Own()
	if kinds(own) != "label, switch, switch b, switch c, drain" || len(own.Refusals) != 1 || kinds(others) != "contract" || len(others.Refusals) != 0 {
		t.Errorf("its own steps are %s (%d refusals), and those of others %s (%d)", kinds(own), len(own.Refusals), kinds(others), len(others.Refusals))
	}
}

// TestNodePlan_needsPodsWhereLimitsOrStrandingMayForbidIt.
func TestNodePlan_needsPodsWhereLimitsOrStrandingMayForbidIt(t *testing.T) {
	t.Parallel()
	none := int64(0)
	x, y := taintsOf(t, "x=1:NoSchedule"), taintsOf(t, "y:NoExecute")
	plan := func(before, after []corev1.Taint) NodePlan {
		return NodePlan{Switches: []Switch{{Node: &snapshot.Node{Name: "a", Taints: before}, Merged: taint.Merged{Taints: after}}}}
	}
	comes, goes, replaces := plan(nil, y), plan(y, nil), plan(x, y)
	for name, tt := range map[string]struct {
		plan   NodePlan
		limits eviction.Limits
		want   bool
	}{
		"a taint that comes, under a limit":                       {comes, eviction.Limits{MaxPods: &none, EvictStranded: true}, true},
		"a taint that comes, under none":                          {comes, eviction.Limits{}, false},
		"a taint that goes, under a limit":                        {goes, eviction.Limits{MaxPods: &none}, false},
		"a taint in the place of another one":                     {replaces, eviction.Limits{}, true},
		"a taint in the place of another one, whom it may strand": {replaces, eviction.Limits{EvictStranded: true}, false},
	} {
		if got := tt.plan.Needs(tt.limits); got != tt.want {
			t.Errorf("%s needs pods: %t", name, got)
		}
	}
	if got := (NodePlan{Switches: []Switch{{Node: &snapshot.Node{Name: "b"}}, {Node: &snapshot.Node{Name: "a"}}}}).Names(); cmp.Diff([]string{"b", "a"}, got) != "" {
		t.Errorf("its nodes are %v", got)
	}
}

// TestOrder_drainsNodesAsOneStep checks also which pods stop the drain.
func TestOrder_drainsNodesAsOneStep(t *testing.T) {
	t.Parallel()
	w := aWorkload(t, "Deployment", "web")
	nodes := []*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "b", "gpu"), aNode(t, "c", "gpu")}
	bare := &snapshot.Pod{Namespace: "shop", Name: "bare", Node: "b", Scheduling: &snapshot.Scheduling{}}
	covered := aPod(t, w, "covered", "b")
	covered.Labels, covered.Ready = labels.Set{"app": "web"}, true
	s := aSnapshot(nodes, aPod(t, w, "a1", "a"), covered, bare, aPod(t, w, "c1", "c"))
	for _, name := range []string{"one", "two"} {
		budget := snapshot.Budget{Name: name, Selector: labels.SelectorFromSet(labels.Set{"app": "web"})}
		if s.Budgets == nil {
			s.Budgets = snapshot.Budgets{}
		}
		s.Budgets["shop"] = append(s.Budgets["shop"], budget)
	}
	plan := Order(s, Change{Drain: &NodeDrain{Nodes: []string{"b", "a"}}}, eviction.ComparisonOff)
	if len(plan.Steps) != 1 || plan.Steps[0].String() != "drain 2 nodes" {
		t.Fatalf("its steps are %v", plan.Steps)
	}
	if diff := cmp.Diff([]string{"a1 drained", "bare drained", "covered drained"}, verdicts(plan), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	var refused []string
	for _, r := range plan.DrainRefusals {
		refused = append(refused, r.Pod.Name)
	}
	if diff := cmp.Diff([]string{"bare", "covered"}, refused); diff != "" {
		t.Errorf("what stops it: %s", diff)
	}
	for name, d := range map[string]*NodeDrain{"none": nil, "of no node": {}} {
		if plan := Order(s, Change{Drain: d}, eviction.ComparisonOff); len(plan.Steps) > 0 {
			t.Errorf("a drain %s has the steps %v", name, plan.Steps)
		}
	}
}

// TestRefuse_aTaintThatTheMachineCarriesIsNotTakenFromItsNode: OpenShift puts it back.
func TestRefuse_aTaintThatTheMachineCarriesIsNotTakenFromItsNode(t *testing.T) {
	t.Parallel()
	x := taintsOf(t, "x=1:NoExecute")
	n := aNode(t, "a", "gpu", "x=1:NoExecute")
	n.Machine = "openshift-machine-api/m1"
	desired := desire(t, Target{Name: "a"})
	desired.Claim.Absent = []taint.ID{taint.IDOf(x[0])}
	for name, machines := range map[string]Machines{"its own": {n.Machine: {Taints: x}}, "another one": {"openshift-machine-api/m2": {Taints: x}}} {
		desired.Machines = machines
		refusals := Refuse(n, MergeNode(n, desired), desired)
		if want := name == "its own"; len(refusals) > 0 != want || want && !strings.Contains(refusals[0].Why, "the node's Machine openshift-machine-api/m1 has it") {
			t.Errorf("%s carries it: %v", name, refusals)
		}
	}
}

// TestPlanNodes_ordersNodesByName, those that leave as well.
func TestPlanNodes_ordersNodesByName(t *testing.T) {
	t.Parallel()
	nodes := []*snapshot.Node{aNode(t, "d", "cpu", "*x=1:NoExecute"), aNode(t, "b", "gpu"), aNode(t, "c", "cpu", "*x=1:NoExecute"), aNode(t, "a", "gpu")}
	got := PlanNodes(nodes, desire(t, pool(t, "gpu"), "x=1:NoExecute")).Names()
	if diff := cmp.Diff([]string{"a", "b", "c", "d"}, got); diff != "" {
		t.Error(diff)
	}
}

// TestPlanNodes_tellsHowANodeDiffersWhoseRecordCannotBeRead, the worst of it.
func TestPlanNodes_tellsHowANodeDiffersWhoseRecordCannotBeRead(t *testing.T) {
	t.Parallel()
	wanted := []string{"x=1:NoExecute", "y=1:NoExecute"}
	for name, tt := range map[string]struct {
		has    []string
		absent string
		want   taint.Status
	}{
		"it is as wanted":                        {has: wanted},
		"one is missing, and one is another one": {has: []string{"y=2:NoExecute"}, want: taint.Missing},
		"one has another value":                  {has: []string{"x=1:NoExecute", "y=2:NoExecute"}, want: taint.Different},
		"one is there that must not be":          {has: append([]string{"z:NoSchedule"}, wanted...), absent: "z:NoSchedule", want: taint.Different},
		"one that must not be is not there":      {has: wanted, absent: "z:NoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := aNode(t, "a", "gpu", tt.has...)
			n.RecordErr = errors.New("damaged")
			desired := desire(t, pool(t, "gpu"), wanted...)
			if tt.absent != "" {
				desired.Claim.Absent = []taint.ID{taint.IDOf(taintsOf(t, tt.absent)[0])}
			}
			plan := PlanNodes([]*snapshot.Node{n}, desired)
			if got := plan.Deviations["a"]; got != tt.want || len(plan.Switches)+len(plan.Refusals) > 0 {
				t.Errorf("it differs by %q, and the plan has %d switches and %d refusals", got, len(plan.Switches), len(plan.Refusals))
			}
		})
	}
}

// labelledSet is a MachineSet with the owned label dedicated=gpu, whose node has another
// value of it and a label of another owner.
func labelledSet(t *testing.T, release bool) SetChange {
	t.Helper()
	record := label.Record{{Key: "dedicated", Owner: "me", Generation: "g2"}}
	n := aNode(t, "a", "gpu")
	n.Labels["dedicated"] = "tpu"
	return SetChange{
		Observed: machineset.Observed{
			Set:      &machineset.Set{Namespace: "machines", Name: "gpu", Replicas: 1, Observed: true, NodeLabels: map[string]string{"dedicated": "gpu"}, LabelRecord: record},
			Machines: []*machineset.Machine{{Namespace: "machines", Name: "m", Node: "a", Phase: "Running"}}, Nodes: map[string]*snapshot.Node{"a": n},
		},
		Labels: label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"dedicated": "gpu", "tier": "x"}, Release: release},
	}
}

// TestOrder_removesLabelsOfMachineSetsWithAllValuesThatPodsMayRequire.
func TestOrder_removesLabelsOfMachineSetsWithAllValuesThatPodsMayRequire(t *testing.T) {
	t.Parallel()
	o := &order{change: Change{MachineSets: MachineSets{Sets: []SetChange{labelledSet(t, true)}}}}
	step, removed := o.labelSets(Unlabel)
	if diff := cmp.Diff(map[string][]string{"dedicated": {"gpu", "tpu"}}, removed); diff != "" || step.Sets != 1 {
		t.Errorf("of %d MachineSets: %s", step.Sets, diff)
	}
}

// TestSetChange_labelledIsTheTemplateAsTheLabelStepsLeaveIt.
func TestSetChange_labelledIsTheTemplateAsTheLabelStepsLeaveIt(t *testing.T) {
	t.Parallel()
	c := labelledSet(t, false)
	if diff := cmp.Diff(map[string]string{"dedicated": "gpu", "tier": "x"}, c.labelled().Set.NodeLabels); diff != "" {
		t.Error(diff)
	}
	if len(c.Set.NodeLabels) != 1 {
		t.Errorf("what was observed has changed: %v", c.Set.NodeLabels)
	}
}
