// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func priority(n int32) podOption { return func(p *snapshot.Pod) { p.Demand.Priority = n } }

func in(namespace string) podOption { return func(p *snapshot.Pod) { p.Namespace = namespace } }

// crowded has a pod of a high priority on n1 that finds room on n2 only where another pod was.
func crowded(options ...podOption) world {
	return newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4)).
		run(pod("web", "n1", asking(3, 3), priority(10))).
		run(other("calm", "n2", append([]podOption{asking(2, 2), in("prod")}, options...)...))
}

// waitingBeside adds a Pending pod that finds room on n2 only where another pod was.
func waitingBeside(w world) world {
	w.Waiting = append(w.Waiting, other("waits", "", ownedBy("ReplicaSet", "waits"), asking(4, 4), priority(20)))
	w.Nodes["n1"].Allocatable.MilliCPU = 3000
	return w
}

func exceeded(limits Limits, r *Report) []Excess {
	if over := new(LimitsError); errors.As(limits.Check(r), &over) {
		return over.Exceeded
	}
	return nil
}

func TestLimits_countPodsThatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	none, one := int64(0), int64(1)
	gold, err := labels.Parse("app=web")
	if err != nil {
		t.Fatal(err)
	}
	victim := []string{"prod/calm"}
	either := crowded()
	either.Nodes["n3"] = having(node("n3"), 4, 4)
	either = either.run(other("sober", "n3", asking(2, 2), in("prod"), ownedBy("ReplicaSet", "another")))
	for name, tt := range map[string]struct {
		world  world
		limits Limits
		want   []Excess
	}{
		"max_pods":                {crowded(), Limits{MaxPods: &one}, []Excess{{Limit: MaxPods, Count: 2, Allowed: 1, Preempted: 1, Pods: []string{"app/web", "prod/calm"}, Certain: true}}},
		"protected_namespaces":    {crowded(), Limits{Namespaces: []string{"prod"}}, []Excess{{Limit: ProtectedNamespaces, Count: 1, Preempted: 1, Pods: victim, Certain: true}}},
		"protected_selector":      {crowded(), Limits{Selector: gold}, []Excess{{Limit: ProtectedSelector, Count: 2, Preempted: 1, Pods: []string{"app/web", "prod/calm"}, Certain: true}}},
		"max_lost":                {crowded(bare), Limits{MaxLost: &none}, []Excess{{Limit: MaxLost, Count: 1, Preempted: 1, Pods: victim, Certain: true}}},
		"max_pods, either of two": {either, Limits{MaxPods: &none}, []Excess{{Limit: MaxPods, Count: 2, Preempted: 1, Pods: []string{"app/web", "prod/calm", "prod/sober"}, Certain: true}}},
		"max_pending":             {crowded(), Limits{MaxPending: &none}, []Excess{{Limit: MaxPending, Count: 1, Certain: true}}},
		"one Pending is allowed":  {crowded(), Limits{MaxPending: &one}, nil},
		// A Pending pod preempts the pod of prod, whether or not n1 is tainted.
		"a Pending pod preempts anyway": {waitingBeside(crowded()), Limits{MaxPods: &one, Namespaces: []string{"prod"}}, nil},
		"no pod is preempted":           {crowded(priority(10)), Limits{MaxPods: &one, Namespaces: []string{"prod"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, exceeded(tt.limits, Evaluate(tt.world.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Two pods of which any may be preempted: one goes, whichever it is.
func TestLimits_countAsManyVictimsAsOneOrderHas(t *testing.T) {
	t.Parallel()
	one, two := int64(1), int64(2)
	w := crowded()
	w.Nodes["n3"] = having(node("n3"), 4, 4)
	w = w.run(other("sober", "n3", asking(2, 2), in("prod")))
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if n := len(r.Outcome().Victims); n != 2 {
		t.Fatalf("%d pods are victims in some order", n)
	}
	if got := exceeded(Limits{MaxPods: &two}, r); got != nil {
		t.Errorf("two pods are allowed: %+v", got)
	}
	if got := exceeded(Limits{MaxPods: &one}, r); len(got) != 1 || got[0].Count != 2 {
		t.Errorf("one pod is allowed: %+v", got)
	}
}

func TestLimits_countARangeWithItsUpperEnd(t *testing.T) {
	t.Parallel()
	// Two pods of one workload ask for more than the three of another: which of them come first decides.
	w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 6, 6))
	for i := range 2 {
		w = w.run(pod(fmt.Sprintf("large-%d", i), "n1", asking(3, 3)))
	}
	for i := range 3 {
		w = w.run(other(fmt.Sprintf("small-%d", i), "n1", asking(2, 2)))
	}
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	missing := r.Outcome().Missing
	if missing.Min == missing.Max {
		t.Fatalf("%+v are Pending", missing)
	}
	least, most := int64(missing.Min), int64(missing.Max)
	want := []Excess{{Limit: MaxPending, Count: missing.Max, Allowed: missing.Min}}
	if diff := cmp.Diff(want, exceeded(Limits{MaxPending: &least}, r)); diff != "" {
		t.Error(diff)
	}
	if got := exceeded(Limits{MaxPending: &most}, r); got != nil {
		t.Errorf("as many are allowed: %+v", got)
	}
}

func TestLimits_leaveOutCompletedPods(t *testing.T) {
	t.Parallel()
	none := int64(0)
	w := newWorld(node("n1")).run(pod("done", "n1", completed, bare))
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if got := exceeded(Limits{MaxPods: &none, MaxLost: &none, MaxPending: &none, Namespaces: []string{"app"}, Selector: labels.Everything()}, r); got != nil {
		t.Errorf("a completed pod counts: %+v", got)
	}
	if s := r.Summary(); s.Completed != 1 || s.Affected() != 0 {
		t.Errorf("the summary is %+v", s)
	}
}

func TestReport_simulatesOnceAndOnlyWhereAPodIsRecreated(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		pod    *snapshot.Pod
		orders bool
	}{
		"a pod of a ReplicaSet": {pod("p", "n1"), true},
		"a pod that stays":      {pod("p", "n1", tolerating(exists("", ""))), false},
		"a bare pod":            {pod("p", "n1", bare), false},
		"a completed pod":       {pod("p", "n1", completed), false},
		"a pod of a DaemonSet":  {pod("p", "n1", ownedBy("DaemonSet", "logs"), pinned("n1")), false},
	} {
		r := Evaluate(newWorld(node("n1"), node("n2")).run(tt.pod).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
		if out := r.Outcome(); out.Orders > 0 != tt.orders || out.Orders > 0 && r.Outcome() != out {
			t.Errorf("%s: %d orders are tried", name, out.Orders)
		}
	}
}

// A rollout looks at its plan again after each step: without a limit it has nothing to ask of a simulation.
func TestLimits_simulateNothingWhereNoneIsSet(t *testing.T) {
	t.Parallel()
	simulated := 0
	report := &Report{Pods: verdicts(3, "web", EvictedNow, nil), outcome: func() *placement.Outcome { simulated++; return &placement.Outcome{} }}
	whole := Join(report)
	if err := (Limits{}).Allow(whole.On([]string{"n1"})); err != nil || simulated > 0 {
		t.Errorf("%v, simulated %d times", err, simulated)
	}
	none := int64(0)
	if err := (Limits{MaxPods: &none}).Check(whole); err == nil || simulated != 1 {
		t.Errorf("%v, simulated %d times", err, simulated)
	}
}

func TestJoin_addsWhatBecomesOfReplacements(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", selecting("disk", "none")), pod("q", "n2", selecting("disk", "none")), other("r", "n2"))
	first, second := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff), Evaluate(w.Snapshot, tainting("n2", "a:NoExecute"), ComparisonOff)
	whole := Join(first, second)
	if got := whole.Outcome(); got.Missing != number(2) || got.Placed != number(1) {
		t.Errorf("placed %+v, missing %+v", got.Placed, got.Missing)
	}
	if got := outcomeOf(t, whole.Outcome(), "web-5d"); got.Pending != number(2) {
		t.Errorf("got %+v", got)
	}
	for _, v := range whole.Pods {
		if gone := v.Pod.Name != "r"; whole.Gone(v) != gone {
			t.Errorf("%s is gone: %t", v.Pod.Name, !gone)
		}
	}
}

func TestWorkloads_haveThoseOfPreemptedPods(t *testing.T) {
	t.Parallel()
	r := Evaluate(crowded().Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	var victim Workload
	for _, w := range r.Workloads() {
		if w.Namespace == "prod" {
			victim = w
		}
	}
	if diff := cmp.Diff(Summary{Preempted: number(1), Pending: number(1), Staying: number(1), Unplaced: number(1)}, victim.Summary, cmpopts.EquateEmpty()); diff != "" || len(victim.Pods) != 0 || victim.Owner.Name != "other" {
		t.Errorf("%+v: %s", victim, diff)
	}
}

func TestLimits_maxPendingLeavesOutPodsThatNewNodesTake(t *testing.T) {
	t.Parallel()
	none, one := int64(0), int64(1)
	w := newWorld(node("n1")).run(pod("p", "n1", selecting("disk", "nvme")), pod("q", "n1", selecting("disk", "ssd")))
	change := tainting("n1", "a:NoExecute")
	change.Comes = []placement.Coming{{Node: &snapshot.Node{Name: "new", Labels: map[string]string{"disk": "nvme"}}, Of: "MachineSet \"m\""}}
	r := Evaluate(w.Snapshot, change, ComparisonOff)
	if diff := cmp.Diff([]Excess{{Limit: MaxPending, Count: 1, Certain: true}}, exceeded(Limits{MaxPending: &none}, r)); diff != "" {
		t.Error(diff)
	}
	if got := exceeded(Limits{MaxPending: &one}, r); got != nil {
		t.Errorf("one is allowed: %+v", got)
	}
}
