// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestFits_byTheFiltersOfTheScheduler(t *testing.T) {
	t.Parallel()
	change := tainting("n1", "a:NoExecute")
	ssd := requiring(expression("disk", corev1.NodeSelectorOpIn, "ssd"))
	for _, tt := range []struct {
		name  string
		world world
		fits  bool
	}{
		{name: "the only node is the tainted one", world: newWorld(node("n1")).run(pod("p", "n1"))},
		{name: "another node is free", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1")), fits: true},
		{name: "every other node is tainted", world: newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1"))},
		{name: "the other node's taint is tolerated", world: newWorld(node("n1"), node("n2", "b:NoSchedule")).run(pod("p", "n1", tolerating(exists("b", "")))), fits: true},
		{name: "the other node's taint only scores", world: newWorld(node("n1"), node("n2", "b:PreferNoSchedule")).run(pod("p", "n1")), fits: true},
		{name: "every other node is cordoned", world: newWorld(node("n1"), cordoned(node("n2"))).run(pod("p", "n1"))},
		{name: "a cordon can be tolerated", world: newWorld(node("n1"), cordoned(node("n2"))).run(pod("p", "n1", tolerating(exists("node.kubernetes.io/unschedulable", "NoSchedule")))), fits: true},
		{name: "the node selector allows no other node", world: newWorld(labelled(node("n1"), "disk", "ssd"), node("n2")).run(pod("p", "n1", selecting("disk", "ssd")))},
		{name: "the node selector allows another node", world: newWorld(node("n1"), labelled(node("n2"), "disk", "ssd")).run(pod("p", "n1", selecting("disk", "ssd"))), fits: true},
		{name: "the required affinity allows no other node", world: newWorld(labelled(node("n1"), "disk", "ssd"), node("n2")).run(pod("p", "n1", ssd))},
		{name: "the required affinity allows another node", world: newWorld(node("n1"), labelled(node("n2"), "disk", "ssd")).run(pod("p", "n1", ssd)), fits: true},
		{name: "the required affinity allows several values", world: newWorld(node("n1"), labelled(node("n2"), "disk", "hdd"), labelled(node("n3", "b:NoSchedule"), "disk", "ssd")).run(pod("p", "n1", requiring(expression("disk", corev1.NodeSelectorOpIn, "ssd", "hdd")))), fits: true},
		{name: "one of two terms of the required affinity suffices", world: newWorld(node("n1"), labelled(node("n2"), "zone", "z")).run(pod("p", "n1", requiring(expression("disk", corev1.NodeSelectorOpIn, "ssd"), expression("zone", corev1.NodeSelectorOpIn, "z")))), fits: true},
		{name: "node selector and affinity are met by no node together", world: newWorld(node("n1"), labelled(node("n2"), "disk", "ssd"), labelled(node("n3"), "zone", "z")).run(pod("p", "n1", ssd, selecting("zone", "z")))},
		{name: "an affinity that does not parse matches nothing", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1", requiring(expression("x", "Nonsense", "y"))))},
		{name: "an affinity without terms matches nothing", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1", requiring()))},
		{name: "an affinity names a node that is gone", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n9")))},
		{name: "an affinity names another node", world: newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n2"))), fits: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if fits := tt.world.fits(t, "p", change); fits != tt.fits {
				t.Errorf("fits %t, want %t", fits, tt.fits)
			}
		})
	}
}

func TestFits_onNoNodeThatIsDrainedOrClosed(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", pinned("n2")))
	if !w.fits(t, "p", tainting("n1", "a:NoExecute")) {
		t.Fatal("the node that the affinity names does not take the pod")
	}
	for name, set := range map[string]func(*Scenario, map[string]bool){
		"drained": func(c *Scenario, nodes map[string]bool) { c.Drained = nodes },
		"closed":  func(c *Scenario, nodes map[string]bool) { c.Closed = nodes },
	} {
		change := tainting("n1", "a:NoExecute")
		set(&change, map[string]bool{"n2": true})
		if w.fits(t, "p", change) {
			t.Errorf("the only node that the affinity names is %s, but takes the pod", name)
		}
	}
}

func TestFits_byLabelsAsTheChangeLeavesThem(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), labelled(node("n2"), "disk", "ssd")).run(pod("p", "n1", selecting("disk", "ssd")))
	change := tainting("n1", "a:NoExecute")
	change.Labels = map[string]map[string]string{"n2": {}}
	if w.fits(t, "p", change) {
		t.Error("a node that loses the label takes the pod")
	}
	change.Labels = map[string]map[string]string{"n2": {"disk": "ssd", "zone": "z"}}
	if !w.fits(t, "p", change) {
		t.Error("a node that keeps the label does not take the pod")
	}
}

// A scheduling that the namespace forbids makes no pod, whichever nodes there are.
func TestFits_nowhereWithForbiddenTolerations(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", func(p *snapshot.Pod) { p.Scheduling.Forbidden = []corev1.Toleration{exists("a", "")} }))
	p := w.named(t, "p")
	f := New(w.Snapshot, Scenario{}, false)
	if f.Fits(p, p.Scheduling) {
		t.Error("the pod fits")
	}
	if got, want := f.Obstacles(p, p.Scheduling), `: namespace "app" does not allow `+toleration.Format(p.Scheduling.Forbidden); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFits_byComparisonOnlyWhereTheGateIsOn(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1", "cost=5:NoSchedule")).run(pod("p", "n1", tolerating(corev1.Toleration{Key: "cost", Operator: "Lt", Value: "9"})))
	p := w.named(t, "p")
	for _, gate := range []bool{false, true} {
		if fits := New(w.Snapshot, Scenario{}, gate).Fits(p, p.Scheduling); fits != gate {
			t.Errorf("gate %t: fits %t", gate, fits)
		}
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
		f := New(w.Snapshot, Scenario{}, false)
		plain := &snapshot.Scheduling{Affinity: &corev1.NodeSelector{NodeSelectorTerms: terms}}
		never := expression("no-such-label", corev1.NodeSelectorOpExists)
		defeated := &snapshot.Scheduling{Affinity: &corev1.NodeSelector{NodeSelectorTerms: append(append([]corev1.NodeSelectorTerm{}, terms...), never)}}
		f.allPlaces()
		if _, ok := f.lookUp(defeated.Affinity.NodeSelectorTerms); ok {
			t.Fatal("the additional term does not defeat the shortcut")
		}
		if short, long := f.Fits(&snapshot.Pod{}, plain), f.Fits(&snapshot.Pod{}, defeated); short != long {
			t.Fatalf("with the shortcut %t, without %t", short, long)
		}
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
