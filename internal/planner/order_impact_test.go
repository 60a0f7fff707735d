// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// plans is what a resource tells of one workload: lists before and after.
func plans(t *testing.T, w *workload.Workload, before, after []string) []PlannedTolerations {
	t.Helper()
	return []PlannedTolerations{{Ref: w.Ref, Pods: w.Pods, Before: tols(t, before...), After: tols(t, after...)}}
}

// The taint x of the node a changes its value, and y comes. What the pod a1 of
// the workload web makes of it depends on who plans what, and on who is linked.
func TestOrder_verdictsOfTheSwitch(t *testing.T) {
	t.Parallel()
	old, full := []string{"x=1:NoExecute"}, []string{"x=1:NoExecute", "x=2:NoExecute", "y:NoExecute"}
	tests := []struct {
		name string
		// pod is what the pod carries, the list where it is not given.
		list, pod []string
		own       []string
		noWait    bool
		others    map[string][]string
		linked    []string
		verdicts  []string
	}{
		{name: "nothing is planned: the pod is stranded", verdicts: []string{"a1 evicted_now stranded"}},
		{name: "what is planned in the same change is sure", own: full},
		{name: "what is planned without a wait is not", own: full, noWait: true, verdicts: []string{"a1 unknown stranded"}},
		{name: "what is planned for one of two taints does not save", own: []string{"x=1:NoExecute", "y:NoExecute"}, verdicts: []string{"a1 evicted_now stranded"}},
		{name: "what a linked resource plans is sure", others: map[string][]string{"one": full}, linked: []string{"one"}},
		{name: "what an unlinked resource plans is not", others: map[string][]string{"one": full}, verdicts: []string{"a1 unknown stranded"}},
		{name: "what an unlinked resource plans for one of two taints does not save", others: map[string][]string{"one": {"x=1:NoExecute", "y:NoExecute"}}, verdicts: []string{"a1 evicted_now stranded"}},
		{
			name: "two linked resources add up", linked: []string{"one", "two"},
			others: map[string][]string{"one": {"x=1:NoExecute", "y:NoExecute"}, "two": {"x=1:NoExecute", "x=2:NoExecute"}},
		},
		{
			name: "two unlinked resources add up, and are not sure", verdicts: []string{"a1 unknown stranded"},
			others: map[string][]string{"one": {"x=1:NoExecute", "y:NoExecute"}, "two": {"x=1:NoExecute", "x=2:NoExecute"}},
		},
		{
			name: "a linked resource counts alone beside an unlinked one", linked: []string{"one"}, verdicts: []string{"a1 evicted_now stranded"},
			others: map[string][]string{"one": {"x=1:NoExecute", "y:NoExecute"}, "two": {"x=1:NoExecute", "x=2:NoExecute"}},
		},
		{
			name: "what is planned in the same change and by a linked resource adds up", linked: []string{"one"}, own: []string{"x=2:NoExecute"},
			others: map[string][]string{"one": {"x=1:NoExecute", "y:NoExecute"}},
		},
		{
			name: "what an unlinked resource plans does not spoil what is planned in the same change", own: full,
			others: map[string][]string{"one": {"x=1:NoExecute", "z:NoExecute"}},
		},
		{
			name: "what a linked resource plans is sure, whatever the same change does not wait for", linked: []string{"one"}, own: []string{"z:NoExecute"}, noWait: true,
			others: map[string][]string{"one": full},
		},
		{name: "what is written and waited for is sure", list: full, pod: old, own: full},
		{
			name: "what is written and waited for adds up with what a linked resource plans", linked: []string{"one"},
			list: []string{"x=1:NoExecute", "x=2:NoExecute"}, pod: old, own: []string{"x=2:NoExecute"},
			others: map[string][]string{"one": {"x=1:NoExecute", "x=2:NoExecute", "y:NoExecute"}},
		},
		{name: "what is written and not waited for is not there", list: full, pod: old, own: full, noWait: true, verdicts: []string{"a1 evicted_now stranded"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.list == nil {
				tt.list = old
			}
			web := aWorkload(t, "Deployment", "web", tt.list...)
			snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute"), aNode(t, "b", "cpu")}, aPod(t, web, "a1", "a", tt.pod...))
			var shared Shared
			for id, after := range tt.others {
				shared.Note(id, plans(t, web, tt.list, after))
			}
			change := Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), "x=2:NoExecute", "y:NoExecute")}, Planned: shared.Tolerations("", tt.linked)}
			if tt.own != nil {
				own := tolerate(t, web, tt.own...)
				own.NoWait = tt.noWait
				change.Workloads = []Tolerations{own}
			}
			known := len(change.Planned)
			if diff := cmp.Diff(tt.verdicts, verdicts(Order(snapshot, change, eviction.ComparisonOff)), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(change.Planned) != known {
				t.Error("the plan wrote into what it was given")
			}
		})
	}
}

func TestOrder_verdictsOfBystanders(t *testing.T) {
	t.Parallel()
	web, db := aWorkload(t, "Deployment", "web"), aWorkload(t, "StatefulSet", "db")
	agent, meant := aWorkload(t, "DaemonSet", "agent"), aWorkload(t, "Deployment", "meant", "x=1:NoSchedule")
	nodes := []*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoSchedule"), aNode(t, "b", "gpu", "*x=1:NoSchedule", "*y:NoExecute"), aNode(t, "c", "cpu")}
	snapshot := aSnapshot(
		nodes, aPod(t, web, "web1", "a"), aPod(t, web, "web2", "c"), aPod(t, db, "db1", "a"), aPod(t, agent, "agent1", "a"),
		aPod(t, meant, "meant1", "a"), aPod(t, meant, "meant2", "b", "x=1:NoSchedule", "y Exists"),
	)
	change := Change{
		Nodes:     []NodeTaints{desire(t, pool(t, "gpu"), "x=2:NoSchedule", "y:NoExecute")},
		Workloads: []Tolerations{tolerate(t, db, "y:NoExecute"), tolerate(t, agent, "y:NoExecute")},
	}
	// Pods that did not tolerate the old value either were not meant to be there:
	// they are evicted, not stranded.
	want := []string{"meant1 evicted_now stranded", "web1 evicted_now", "meant2 stays stranded"}
	if diff := cmp.Diff(want, verdicts(Order(snapshot, change, eviction.ComparisonOff))); diff != "" {
		t.Error(diff)
	}
}

// TestOrder_aNewPinDeletesPodsOfADaemonSetElsewhere: they are deleted immediately, so that no
// rollout restarts them and nothing waits for them.
func TestOrder_aNewPinDeletesPodsOfADaemonSetElsewhere(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		"DaemonSet":  {"expand agent:, restarts agent-a", "wait for agent: agent-a"},
		"Deployment": {"expand agent:, restarts agent-a agent-c", "wait for agent: agent-a agent-c"},
	} {
		agent := aWorkload(t, kind, "agent")
		agent.UID = "uid"
		pods := []*snapshot.Pod{aPod(t, agent, "agent-a", "a"), aPod(t, agent, "agent-c", "c")}
		for _, p := range pods {
			p.UID, p.Controller.UID = types.UID(p.Name), agent.UID
		}
		seen := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "c", "cpu")}, pods...)
		seen.Daemons = map[types.UID]*snapshot.Daemon{agent.UID: {}}
		pin := label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"pool": "gpu"}}
		plan := Order(seen, Change{Workloads: []Tolerations{{Workload: agent, Claim: toleration.Claim{Owner: "me", Generation: "g2"}, Pin: pin}}}, eviction.ComparisonOff)
		if diff := cmp.Diff(want, writeSteps(plan)); diff != "" {
			t.Error(kind, diff)
		}
		var leave []string
		if kind == "DaemonSet" {
			leave = []string{"agent-c evicted_now"}
		}
		if diff := cmp.Diff(leave, verdicts(plan)); diff != "" {
			t.Error(kind, diff)
		}
	}
}

// TestOrder_reportsNoPinThatEvictsNoPod: all nodes with pods of the DaemonSet have the label.
func TestOrder_reportsNoPinThatEvictsNoPod(t *testing.T) {
	t.Parallel()
	agent := aWorkload(t, "DaemonSet", "agent")
	agent.UID = "uid"
	p := aPod(t, agent, "agent-a", "a")
	p.Controller.UID = agent.UID
	seen := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu"), aNode(t, "c", "cpu")}, p)
	seen.Daemons = map[types.UID]*snapshot.Daemon{agent.UID: {}}
	own := tolerate(t, agent)
	own.Pin = label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"pool": "gpu"}}
	plan := Order(seen, Change{Workloads: []Tolerations{own}}, eviction.ComparisonOff)
	if steps, _ := plan.Impact(); len(plan.Steps) != 2 || len(steps) > 0 {
		t.Errorf("of the steps %v these may evict pods: %v", plan.Steps, steps)
	}
}

func TestOrder_reportsNoSwitchThatIsHarmless(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web", "x=1:NoExecute")
	snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "*x=1:NoExecute")}, aPod(t, web, "a1", "a"))
	for _, taints := range [][]string{nil, {"x=1:NoExecute", "y:PreferNoSchedule"}} {
		plan := Order(snapshot, Change{Nodes: []NodeTaints{desire(t, pool(t, "gpu"), taints...)}}, eviction.ComparisonOff)
		if len(plan.Steps) != 1 || plan.Steps[0].Report != nil {
			t.Errorf("%v: %s", taints, writeSteps(plan))
		}
	}
}

func TestShared_tellsWhatOthersPlan(t *testing.T) {
	t.Parallel()
	web, db := aWorkload(t, "Deployment", "web"), aWorkload(t, "StatefulSet", "db")
	var shared Shared
	if _, told := shared.Of("one"); told || len(shared.Tolerations("", nil)) > 0 {
		t.Error("something is known of no resource")
	}
	shared.Note("one", plans(t, web, nil, []string{"x=1:NoExecute"}))
	shared.Note("one", plans(t, web, nil, []string{"x=2:NoExecute"}))
	shared.Note("two", plans(t, db, []string{"x=1:NoExecute"}, []string{"x=1:NoExecute"}))
	if planned, told := shared.Of("one"); !told || toleration.Format(planned[0].After) != "x=2:NoExecute" {
		t.Errorf("what is told again does not replace what was told: %v", planned)
	}
	if _, told := shared.Of("two"); !told {
		t.Error("a resource that changes nothing is not known")
	}
	planned := shared.Tolerations("", []string{"two", "one"})
	if others := shared.Tolerations("one", []string{"two", "one"}); len(others) > 0 {
		t.Errorf("what a resource plans itself is none of the others': %v", others)
	}
	if got := planned[web.Pods[0]]; len(planned) != 1 || !got.Sure || toleration.Format(got.After) != "x=2:NoExecute" {
		t.Errorf("what changes nothing is left out: %v", planned)
	}
}

func TestTolerations_mergeAsTheNodesAreNow(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web", "*x=1:NoExecute")
	snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "x=1:NoExecute")}, aPod(t, web, "a1", "a"))
	release := tolerate(t, web)
	release.Claim.Release = true
	if merged := release.Merge(snapshot, eviction.ComparisonOff); !toleration.Retiring(merged.Record) || merged.Template {
		t.Errorf("what a pod lives by does not retire: %s", merged.Record)
	}
	release.RemoveImmediately = true
	if merged := release.Merge(snapshot, eviction.ComparisonOff); len(merged.Tolerations) > 0 {
		t.Errorf("what shall go now stays: %s", toleration.Format(merged.Tolerations))
	}
}

func TestTolerations_takeTheGateForOnWhereItIsNotKnown(t *testing.T) {
	t.Parallel()
	for comparison, kept := range map[eviction.Comparison]bool{eviction.ComparisonOff: false, eviction.ComparisonOn: true, eviction.ComparisonUnknown: true} {
		web := aWorkload(t, "Deployment", "web")
		release := tolerate(t, web)
		release.Claim.Release = true
		web.Tolerations = tols(t, "x=1:NoExecute")
		web.Tolerations[0].Operator, web.Tolerations[0].Value = "Lt", "5"
		web.Record = toleration.Record{{Key: "x", Operator: "Lt", Value: "5", Effect: "NoExecute", Owner: "me", Generation: "g2"}}
		snapshot := aSnapshot([]*snapshot.Node{aNode(t, "a", "gpu", "x=3:NoExecute")}, aPod(t, web, "a1", "a"))
		if got := toleration.Retiring(release.Merge(snapshot, comparison).Record); got != kept {
			t.Errorf("comparison %d: kept %t, want %t", comparison, got, kept)
		}
	}
}
