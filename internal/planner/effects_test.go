// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// inTurn plans resources one after the other, as one run does, and returns the reports of their last steps.
func inTurn(s *snapshot.Snapshot, changes ...Change) []*eviction.Report {
	var effects Effects
	out := make([]*eviction.Report, len(changes))
	for i, change := range changes {
		owner := fmt.Sprint(i)
		effects.Note(owner, Order(s, change, eviction.ComparisonOff).Does(), false)
		_, out[i] = Order(s.Beside(effects.Before(owner, false)), change, eviction.ComparisonOff).Impact()
	}
	return out
}

// TestOrder_countsWhatOtherResourcesOfTheRunPlan: A taints node a and B node b, in both orders. Each of these has a pod
// and room for another one, the others have room for one.
func TestOrder_countsWhatOtherResourcesOfTheRunPlan(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		nodes int
		taint string
		// first and second are the missing replacements of the one that is planned first and second, total
		// those of both.
		first, second, total eviction.Range
	}{
		"room on each other alone":     {nodes: 2, taint: "x:NoExecute", second: eviction.Range{Min: 1, Max: 1}, total: eviction.Range{Min: 2, Max: 2}},
		"room for one on a third node": {nodes: 3, taint: "x:NoExecute", second: eviction.Range{Min: 0, Max: 1}, total: eviction.Range{Min: 1, Max: 1}},
		"room for both":                {nodes: 4, taint: "x:NoExecute"},
		"the pods tolerate the taint":  {nodes: 2, taint: "tolerated:NoExecute"},
	} {
		for _, turned := range []bool{false, true} {
			var nodes []*snapshot.Node
			for i := range tt.nodes {
				n := aNode(t, string(rune('a'+i)), string(rune('a'+i)))
				n.Ready, n.Allocatable = true, &snapshot.Resources{MilliCPU: 1200, Pods: 10}
				if i >= 2 {
					n.Allocatable.MilliCPU = 600
				}
				nodes = append(nodes, n)
			}
			s := aSnapshot(nodes)
			for _, at := range []string{"a", "b"} {
				p := aPod(t, aWorkload(t, "Deployment", "web-"+at, "tolerated:NoExecute"), "web-"+at, at)
				p.UID, p.Demand = types.UID(at), &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: 600}, Holds: snapshot.Resources{MilliCPU: 600}}
				s.Pods[at] = append(s.Pods[at], p)
			}
			changes := []Change{{Nodes: []NodeTaints{desire(t, pool(t, "a"), tt.taint)}}, {Nodes: []NodeTaints{desire(t, pool(t, "b"), tt.taint)}}}
			if turned {
				changes[0], changes[1] = changes[1], changes[0]
			}
			reports := inTurn(s, changes...)
			if first, second := reports[0].Outcome().Missing, reports[1].Outcome().Missing; first != tt.first || second != tt.second {
				t.Errorf("%s (turned %t): %v and %v are missing, want %v and %v", name, turned, first, second, tt.first, tt.second)
			}
			if got := reports[1].Outcome().Others.All; got != tt.total {
				t.Errorf("%s (turned %t): %v are missing in all, want %v", name, turned, got, tt.total)
			}
			if a, b := len(reports[0].Evicted()), len(reports[1].Evicted()); a != b {
				t.Errorf("%s (turned %t): %d and %d are evicted", name, turned, a, b)
			}
		}
	}
}

// TestEffects_Exceeded: two nodes have a pod each and room for the other one. Both are tainted, or the second one takes
// no more pods. What both leave Pending is compared with the limit of the first one.
func TestEffects_Exceeded(t *testing.T) {
	t.Parallel()
	excess := func(pods, most int) []eviction.Excess {
		return []eviction.Excess{{Limit: eviction.MaxPending, Count: pods, Allowed: most, Of: "first", Certain: true}}
	}
	for name, tt := range map[string]struct {
		limit         *int64
		first, second string
		want          []eviction.Excess
		// awaited is set where the first one brings a node that takes its pod.
		awaited bool
	}{
		"the first one brings a node":  {limit: new(int64(0)), first: "x:NoExecute", second: "x:PreferNoSchedule", awaited: true},
		"which is not for the second":  {limit: new(int64(0)), first: "x:NoExecute", second: "x:NoExecute", want: excess(1, 0), awaited: true},
		"no limit":                     {first: "x:NoExecute", second: "x:NoExecute"},
		"a limit that allows both":     {limit: new(int64(2)), first: "x:NoExecute", second: "x:NoExecute"},
		"one that allows one of them":  {limit: new(int64(1)), first: "x:NoExecute", second: "x:NoExecute", want: excess(2, 1)},
		"one that allows none":         {limit: new(int64(0)), first: "x:NoExecute", second: "x:NoExecute", want: excess(2, 0)},
		"the second one evicts no pod": {limit: new(int64(0)), first: "x:NoExecute", second: "x:NoSchedule", want: excess(1, 0)},
		"the first one evicts no pod":  {limit: new(int64(0)), first: "x:NoSchedule", second: "x:NoExecute", want: excess(1, 0)},
		"the first one does nothing":   {limit: new(int64(0)), first: "x:PreferNoSchedule", second: "x:NoExecute"},
		"the second one takes no room": {limit: new(int64(0)), first: "x:NoExecute", second: "x:PreferNoSchedule"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []*snapshot.Node{aNode(t, "a", "a"), aNode(t, "b", "b")}
			for _, n := range nodes {
				n.Ready, n.Allocatable = true, &snapshot.Resources{MilliCPU: 1200, Pods: 10}
			}
			s := aSnapshot(nodes)
			for _, at := range []string{"a", "b"} {
				p := aPod(t, aWorkload(t, "Deployment", "web-"+at, "tolerated:NoExecute"), "web-"+at, at)
				p.UID, p.Demand = types.UID(at), &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: 600}, Holds: snapshot.Resources{MilliCPU: 600}}
				s.Pods[at] = append(s.Pods[at], p)
			}
			var effects Effects
			order := func(at, taint string) func(*snapshot.Snapshot) Plan {
				return func(s *snapshot.Snapshot) Plan {
					return Order(s, Change{Nodes: []NodeTaints{desire(t, pool(t, at), taint)}}, eviction.ComparisonOff)
				}
			}
			does := order("a", tt.first)(s).Does()
			does.MaxPending = tt.limit
			if tt.awaited {
				does.Nodes = does.Nodes.And(&snapshot.Others{Evicted: map[string]map[types.UID]snapshot.Departure{"a": {"a": {Awaited: true}}}})
			}
			effects.Note("first", does, false)
			second := order("b", tt.second)
			beside := s.Beside(effects.Note("second", second(s).Does(), false))
			got := effects.Exceeded("second", false, beside, second(beside), second)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if more := effects.Exceeded("first", false, s, order("a", tt.first)(s), order("a", tt.first)); more != nil {
				t.Errorf("the one that is planned first exceeds %+v", more)
			}
		})
	}
}

// TestEffects_keepTheOrderOfPlanning: of any two resources one counts the other, and none counts itself.
func TestEffects_keepTheOrderOfPlanning(t *testing.T) {
	t.Parallel()
	closing := func(node string) *snapshot.Others { return &snapshot.Others{Closed: map[string]bool{node: true}} }
	names := func(o *snapshot.Others) string {
		if o == nil {
			return ""
		}
		return strings.Join(slices.Sorted(maps.Keys(o.Closed)), " ")
	}
	var none *Effects
	var e Effects
	for _, step := range []struct{ owner, closes, want string }{
		{"a", "n1", ""}, {"b", "n2", "n1"}, {"c", "", "n1 n2"}, {"a", "n4", ""}, {"b", "n2", "n4"}, {"d", "n3", "n2 n4"},
	} {
		does := closing(step.closes)
		if step.closes == "" {
			does = nil
		}
		if got := names(e.Note(step.owner, Effect{Nodes: does}, true)); got != step.want {
			t.Errorf("%s counts %q, want %q", step.owner, got, step.want)
		}
	}
	for owner, want := range map[string]string{"a": "", "b": "n4", "c": "n2 n4", "d": "n2 n4", "destroyed": "n2 n3 n4"} {
		if got := names(e.Before(owner, false)); got != want {
			t.Errorf("then %s counts %q, want %q", owner, got, want)
		}
	}
	if none.Before("a", false) != nil {
		t.Error("without effects there are some")
	}
}

// TestEffects_rolloutsOfMachinesTakeTurns: one at a time counts no other, and nodes count everything.
func TestEffects_rolloutsOfMachinesTakeTurns(t *testing.T) {
	t.Parallel()
	closing := func(node string) *snapshot.Others { return &snapshot.Others{Closed: map[string]bool{node: true}} }
	for turns, want := range map[bool]int{true: 1, false: 2} {
		var e Effects
		e.Note("sets", Effect{Machines: closing("m1")}, turns)
		e.Note("nodes", Effect{Nodes: closing("n1")}, turns)
		if got := e.Note("more sets", Effect{Nodes: closing("n2"), Machines: closing("m2")}, turns); len(got.Closed) != want {
			t.Errorf("turns %t: a rollout counts %v", turns, got.Closed)
		}
		if got := e.Note("more nodes", Effect{Nodes: closing("n3")}, turns); len(got.Closed) != 4 {
			t.Errorf("turns %t: nodes count %v", turns, got.Closed)
		}
		if got := e.Before("more sets", turns); len(got.Closed) != want {
			t.Errorf("turns %t: at apply, a rollout counts %v", turns, got.Closed)
		}
	}
}

// TestEffects_limitsOfRolloutsThatTakeTurns: a max_pending counts what comes beside it. Rollouts of machines that take turns
// come one after the other.
func TestEffects_limitsOfRolloutsThatTakeTurns(t *testing.T) {
	t.Parallel()
	closing := func(node string) *snapshot.Others { return &snapshot.Others{Closed: map[string]bool{node: true}} }
	for turns, want := range map[bool]int{true: 0, false: 1} {
		var e Effects
		e.Note("sets", Effect{Machines: closing("m1"), MaxPending: new(int64)}, turns)
		e.Note("more sets", Effect{Machines: closing("m2")}, turns)
		e.Note("nodes", Effect{Nodes: closing("n1")}, turns)
		if got := e.limited("more sets", turns); len(got) != want {
			t.Errorf("turns %t: beside a rollout %d limits count, want %d", turns, len(got), want)
		}
		if got := e.limited("nodes", turns); len(got) != 1 {
			t.Errorf("turns %t: beside nodes %d limits count, want 1", turns, len(got))
		}
	}
}

// TestEffects_Drop: a resource that was stopped before it wrote anything evicts no pod.
func TestEffects_Drop(t *testing.T) {
	t.Parallel()
	var none *Effects
	none.Drop("a")
	var e Effects
	e.Note("a", Effect{Nodes: &snapshot.Others{Closed: map[string]bool{"n1": true}}}, false)
	e.Drop("a")
	e.Drop("unknown")
	if got := e.Note("b", Effect{}, false); got != nil {
		t.Errorf("then b counts %v", got)
	}
}
