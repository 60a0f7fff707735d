// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func labelled(n *Node, key, value string) *Node {
	n.Labels[key] = value
	return n
}

func cordoned(n *Node) *Node {
	n.Unschedulable = true
	return n
}

func requiring(terms ...corev1.NodeSelectorTerm) podOption {
	return func(p *Pod) { p.Scheduling.Affinity = &corev1.NodeSelector{NodeSelectorTerms: terms} }
}

func expression(key string, op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: values}}}
}

func TestEvaluate_whetherAPodThatLeavesFindsAnotherNode(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoExecute")
	gone := oneCase{want: "evicted_now", notReschedulabe: true, gone: true, reason: "no other node would take it"}
	back := oneCase{want: "evicted_now"}
	with := func(c oneCase, name string, w world) oneCase {
		c.name, c.world, c.change = name, w, change
		return c
	}
	ssd := requiring(expression("disk", corev1.NodeSelectorOpIn, "ssd"))
	runOne(t, []oneCase{
		with(gone, "the only node is the tainted one", newWorld(node("n1")).run(pod("p", "n1"))),
		with(back, "another node is free", newWorld(node("n1"), node("n2")).run(pod("p", "n1"))),
		with(gone, "every other node is tainted", newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1"))),
		with(back, "the other node's taint is tolerated", newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1", tolerating(exists("b", ""))))),
		with(back, "the other node's taint only scores", newWorld(node("n1"), node("n2", "b:PreferNoSchedule")).run(pod("p", "n1"))),
		with(gone, "every other node is cordoned", newWorld(node("n1"), cordoned(node("n2"))).run(pod("p", "n1"))),
		with(back, "a cordon can be tolerated", newWorld(node("n1"), cordoned(node("n2"))).run(pod("p", "n1", tolerating(exists("node.kubernetes.io/unschedulable", "NoSchedule"))))),
		with(gone, "the node selector allows no other node", newWorld(labelled(node("n1"), "disk", "ssd"), node("n2")).run(pod("p", "n1", selecting("disk", "ssd")))),
		with(back, "the node selector allows another node", newWorld(node("n1"), labelled(node("n2"), "disk", "ssd")).run(pod("p", "n1", selecting("disk", "ssd")))),
		with(gone, "the required affinity allows no other node", newWorld(labelled(node("n1"), "disk", "ssd"), node("n2")).run(pod("p", "n1", ssd))),
		with(back, "the required affinity allows another node", newWorld(node("n1"), labelled(node("n2"), "disk", "ssd")).run(pod("p", "n1", ssd))),
		with(gone, "node selector and affinity are met by no node together",
			newWorld(node("n1"), labelled(node("n2"), "disk", "ssd"), labelled(node("n3"), "zone", "z")).run(pod("p", "n1", ssd, selecting("zone", "z")))),
		with(gone, "an affinity that does not parse matches nothing", newWorld(node("n1"), node("n2")).run(pod("p", "n1", requiring(expression("x", "Nonsense", "y"))))),
		with(gone, "an affinity without terms matches nothing", newWorld(node("n1"), node("n2")).run(pod("p", "n1", requiring()))),
		with(gone, "an affinity names a node that is gone", newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n9")))),
		with(back, "an affinity names another node", newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n2")))),
	})
}

func TestEvaluate_namedNodesOfDrainsDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n2")))
	change := tainting("n1", "a:NoExecute")
	change.Drains = map[string]bool{"n2": true}
	if v := only(t, Evaluate(w.Snapshot, change, ComparisonOff)); v.Reschedulable {
		t.Error("the only node that the affinity names is drained, but counts as a home")
	}
}

// The shortcut for affinities that name their nodes must not change any answer:
// it is compared with the same affinity where one more term defeats it.
func TestNamedNodes_changeNoAnswer(t *testing.T) {
	t.Parallel()
	names := rapid.SliceOfN(rapid.SampledFrom([]string{"n1", "n2", "n3", "n9"}), 1, 3)
	rapid.Check(t, func(t *rapid.T) {
		var terms []corev1.NodeSelectorTerm
		for range rapid.IntRange(0, 2).Draw(t, "terms") {
			term := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: names.Draw(t, "names")[:1]}}}
			if rapid.Bool().Draw(t, "narrowed") {
				term.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "disk", Operator: "Exists"}}
			}
			terms = append(terms, term)
		}
		w := newWorld(node("n1", "a:NoExecute"), labelled(node("n2"), "disk", "ssd"), cordoned(node("n3")))
		e := &evaluation{snapshot: w.Snapshot, searches: newSearches()}
		plain := &Scheduling{Affinity: &corev1.NodeSelector{NodeSelectorTerms: terms}}
		never := expression("no-such-label", corev1.NodeSelectorOpExists)
		defeated := &Scheduling{Affinity: &corev1.NodeSelector{NodeSelectorTerms: append(append([]corev1.NodeSelectorTerm{}, terms...), never)}}
		e.allPlaces()
		if _, ok := e.lookUp(defeated.Affinity.NodeSelectorTerms); ok {
			t.Fatal("the additional term does not defeat the shortcut")
		}
		if short, long := e.home(&Pod{}, plain), e.home(&Pod{}, defeated); short != long {
			t.Fatalf("with the shortcut %t, without %t", short, long)
		}
	})
}

func TestEvaluate_ofNoScheduleMovesNobody(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoSchedule")
	two := func(p *Pod) world { return newWorld(node("n1"), node("n2")).run(p) }
	one := func(p *Pod) world { return newWorld(node("n1")).run(p) }
	daemon := []podOption{ownedBy("DaemonSet", "logs"), pinned("n1")}
	runOne(t, []oneCase{
		{name: "a pod that finds another node has nothing to fear", world: two(pod("p", "n1")), change: change, want: "stays", reason: "could not be scheduled on this node again"},
		{
			name: "a pod that finds no other node", world: one(pod("p", "n1")), change: change,
			want: "stays", notReschedulabe: true, reason: "nor on any other",
		},
		{name: "a pod that tolerates it is plain", world: one(pod("p", "n1", tolerating(exists("a", "")))), change: change, want: "stays"},
		{
			name: "a DaemonSet's pod is mis-scheduled", world: one(pod("p", "n1", daemon...)), change: change,
			want: "stays", misscheduled: true, reason: "its DaemonSet counts it as mis-scheduled",
		},
		{name: "a completed pod is not scheduled again anyway", world: one(pod("p", "n1", completed)), change: change, want: "stays"},
		{name: "a mirror pod is not scheduled anyway", world: one(pod("p", "n1", mirror)), change: change, want: "stays"},
		{
			name:  "a pod that the node would not take before either is not this change's doing",
			world: newWorld(node("n1", "b:NoSchedule")).run(pod("p", "n1")), change: tainting("n1", "b:NoSchedule", "a:NoSchedule"), want: "stays",
		},
		{
			name: "a toleration by Lt counts while the gate is on", gate: ComparisonOn, change: tainting("n1", "cost=5:NoSchedule"), want: "stays",
			world: one(pod("p", "n1", tolerating(corev1.Toleration{Key: "cost", Operator: "Lt", Value: "9"}))),
		},
		{
			name: "a toleration by Lt is told of while the gate is not known", change: tainting("n1", "cost=5:NoSchedule"), want: "stays", notReschedulabe: true,
			world:  one(pod("p", "n1", tolerating(corev1.Toleration{Key: "cost", Operator: "Lt", Value: "9"}))),
			reason: "unless the feature gate TaintTolerationComparisonOperators is on",
		},
	})
}

func TestBoundTo_isOneNodeByNameAndNothingElse(t *testing.T) {
	t.Parallel()
	named := func(names ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: names}}}
	}
	not := named("n1")
	not.MatchFields[0].Operator = corev1.NodeSelectorOpNotIn
	more := named("n1")
	more.MatchExpressions = []corev1.NodeSelectorRequirement{{Key: "pool", Operator: corev1.NodeSelectorOpExists}}
	twice := named("n1")
	twice.MatchFields = append(twice.MatchFields, named("n2").MatchFields...)
	for name, tt := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  string
	}{
		"one node":              {terms: []corev1.NodeSelectorTerm{named("n1")}, want: "n1"},
		"no term":               {},
		"two terms":             {terms: []corev1.NodeSelectorTerm{named("n1"), named("n2")}},
		"two names":             {terms: []corev1.NodeSelectorTerm{named("n1", "n2")}},
		"two fields":            {terms: []corev1.NodeSelectorTerm{twice}},
		"any other node":        {terms: []corev1.NodeSelectorTerm{not}},
		"a label beside it":     {terms: []corev1.NodeSelectorTerm{more}},
		"a term without a word": {terms: []corev1.NodeSelectorTerm{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, bound := boundTo(&corev1.NodeSelector{NodeSelectorTerms: tt.terms}); got != tt.want || bound != (tt.want != "") {
				t.Errorf("got %q, %t", got, bound)
			}
		})
	}
}
