// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// classed is a pod that was created when its PriorityClass had this value.
func classed(name string, value int32) podOption {
	return func(p *snapshot.Pod) { p.Demand.PriorityClass, p.Demand.Priority = name, value }
}

// Two pods of 2 cores are evicted from n1. Another pod of priority 5 uses n2, the only other node, which has 4 cores.
func TestSimulate_priorityClasses(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		class              string
		value              int32
		classes            snapshot.PriorityClasses
		placed, refused    int
		preempted, pending int
		why                string
		unknown            bool
	}{
		"of the same value as before":             {class: "c", classes: snapshot.PriorityClasses{"c": {}}, pending: 2},
		"of another value":                        {class: "c", classes: snapshot.PriorityClasses{"c": {Value: 1000}}, placed: 2, preempted: 1},
		"of another value, preempting none":       {class: "c", classes: snapshot.PriorityClasses{"c": {Value: 1000, Patient: true}}, pending: 2},
		"of a lower value":                        {class: "c", value: 1000, classes: snapshot.PriorityClasses{"c": {}}, pending: 2},
		"one that is gone":                        {class: "c", classes: snapshot.PriorityClasses{}, refused: 2, why: `PriorityClass "c" does not exist`},
		"one of the system, which is not listed":  {class: "system-node-critical", value: 1000, classes: snapshot.PriorityClasses{}, placed: 2, preempted: 1},
		"one of the system where none were read":  {class: "system-cluster-critical", pending: 2},
		"where none were read, they keep theirs":  {class: "c", value: 1000, placed: 2, preempted: 1, unknown: true},
		"none were read, and none has one either": {pending: 2},
		"a default one for pods that have none":   {classes: snapshot.PriorityClasses{"c": {Value: 1000, Default: true}}, placed: 2, preempted: 1},
	} {
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 100)).
			run(replicas("web", "n1", 2, asking(2, 1), classed(tt.class, tt.value))...).run(other("low", "n2", asking(4, 1), priority(5)))
		w.PriorityClasses = tt.classes
		out := w.simulate()
		got, why := out.of(t, "web"), ""
		if got.Refusal != nil {
			why = got.Refusal.Reason()
		}
		if got.Placed != exactly(tt.placed) || got.Refused != exactly(tt.refused) || got.Pending != exactly(tt.pending) || out.Preempted != exactly(tt.preempted) {
			t.Errorf("%s: placed %v, refused %v, Pending %v, preempted %v", name, got.Placed, got.Refused, got.Pending, out.Preempted)
		}
		if why != tt.why || out.UnknownClasses != tt.unknown {
			t.Errorf("%s: refused because %q, unknown %t", name, why, out.UnknownClasses)
		}
	}
}

// The pods may have been given the class that was the default one when they were created, as their template has none: in some
// orders they get that of today, and in the others they are refused.
func TestSimulate_aMissingClassMayHaveBeenTheDefaultOne(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 100)).
		run(replicas("web", "n1", 2, asking(2, 1), classed("gone", 1000))...).run(other("low", "n2", asking(4, 1), priority(5)))
	w.PriorityClasses = snapshot.PriorityClasses{"new": {Value: 9, Default: true}}
	out := w.simulate()
	if got := out.of(t, "web"); got.Refused != (Range{0, 2}) || got.Placed != (Range{0, 2}) || got.Proved > 0 || out.Preempted != (Range{0, 1}) {
		t.Errorf("refused %v, placed %v, proved %d, preempted %v", got.Refused, got.Placed, got.Proved, out.Preempted)
	}
}

// The replacement of a preempted pod is a new pod as well.
func TestSimulate_preemptedPodsOfAMissingClassAreNotCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 100), having(node("n3"), 2, 100)).
		run(replicas("high", "n1", 1, asking(2, 1), classed("high", 9))...).
		run(replicas("low", "n2", 1, asking(1, 1), classed("low", 1))...).run(replicas("low2", "n3", 1, asking(1, 1), classed("low", 1))...)
	w.PriorityClasses = snapshot.PriorityClasses{"high": {Value: 9}}
	if out := w.simulate(); out.Preempted != exactly(1) || out.Refused != exactly(1) || out.of(t, "high").Placed != exactly(1) {
		t.Errorf("preempted %v, refused %v", out.Preempted, out.Refused)
	}
}

// A pod that was Pending before is there already: it keeps its priority.
func TestSimulate_priorityClassesChangeNoPodThatExists(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 100)).run(replicas("web", "n1", 1, asking(4, 1), priority(7))...)
	w.Waiting = []*snapshot.Pod{pod("waits", "", ownedBy("ReplicaSet", "waits"), asking(4, 1), classed("c", 1))}
	w.PriorityClasses = snapshot.PriorityClasses{"c": {Value: 1000}}
	if got := w.simulate().of(t, "web"); got.Placed != exactly(1) {
		t.Errorf("got %+v", got)
	}
}
