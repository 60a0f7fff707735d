// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func simulate(w world, change Scenario) (*Report, *placement.Outcome) {
	report := Evaluate(w.Snapshot, change, ComparisonOff)
	return report, report.Outcome()
}

func outcomeOf(t *testing.T, o *placement.Outcome, name string) placement.WorkloadOutcome {
	t.Helper()
	for _, w := range o.Workloads {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no outcome of %s in %+v", name, o.Workloads)
	return placement.WorkloadOutcome{}
}

func number(n int) placement.Range { return placement.Range{Min: n, Max: n} }

func TestSimulate_tenPodsAndRoomForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 1, 1))
	for i := range 10 {
		w = w.run(pod(fmt.Sprintf("p%d", i), "n1", asking(1, 1)))
	}
	report, out := simulate(w, tainting("n1", "a:NoExecute"))
	if got := outcomeOf(t, out, "web-5d"); got.Placed != number(1) || got.Pending != number(9) {
		t.Errorf("got %+v", got)
	}
	if s := report.Summary(); s.Evicted() != 10 || s.Pending != number(9) {
		t.Errorf("the summary is %+v", s)
	}
}

func TestSimulate_replacesWhatControllersReplace(t *testing.T) {
	t.Parallel()
	two := func(options ...podOption) world {
		return newWorld(node("n1"), node("n2")).run(pod("p", "n1", options...))
	}
	forbidding := two(tolerating(exists("b", "")))
	forbidding.Admission = &admission.Rules{}
	forbidding = forbidding.allowing(exists("c", ""))
	for name, tt := range map[string]struct {
		world                       world
		placed, pending, notCreated int
	}{
		"a pod of a ReplicaSet":                 {world: two(), placed: 1},
		"a bare pod":                            {world: two(bare)},
		"a completed pod":                       {world: two(completed)},
		"a mirror pod":                          {world: two(mirror)},
		"a pod of a DaemonSet":                  {world: two(ownedBy("DaemonSet", "logs"), pinned("n1"))},
		"a pod that fits on no other node":      {world: two(selecting("kubernetes.io/hostname", "n1")), pending: 1},
		"a pod that is being deleted":           {world: two(terminating)},
		"a pod whose tolerations are forbidden": {world: forbidding, notCreated: 1},
	} {
		_, out := simulate(tt.world, tainting("n1", "a:NoExecute"))
		if out.Placed != number(tt.placed) || out.Pending != number(tt.pending) || out.NotCreated != number(tt.notCreated) {
			t.Errorf("%s: placed %+v, pending %+v, not created %+v", name, out.Placed, out.Pending, out.NotCreated)
		}
	}
}

func TestSimulate_putsADaemonBackWhereItsTemplateToleratesTheTaint(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(pod("p", "n1", ownedBy("DaemonSet", "logs"), pinned("n1")))
	w = w.template("logs", corev1.PodSpec{Tolerations: []corev1.Toleration{exists("a", "")}})
	if _, out := simulate(w, tainting("n1", "a:NoExecute")); out.Placed != number(1) {
		t.Errorf("placed %+v, pending %+v", out.Placed, out.Pending)
	}
}

func TestSimulate_takesTheSecondsOfTheVerdict(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).
		run(pod("p", "n1", asking(2, 2), tolerating(exists("b", "")))).
		run(pod("slow", "n2", ownedBy("ReplicaSet", "slow"), asking(2, 2), tolerating(lasting(exists("b", ""), 300))))
	change := tainting("n1", "a:NoExecute")
	if _, out := simulate(w, change); outcomeOf(t, out, "web-5d").Pending != number(1) {
		t.Error("the room of a pod that stays is free")
	}
	change.Taints["n2"] = taintsOf("b:NoExecute")
	_, out := simulate(w, change)
	if got := outcomeOf(t, out, "web-5d"); got.Placed != number(1) || got.Delayed != number(1) {
		t.Errorf("behind a pod that is evicted after 300s: %+v", got)
	}
}

func TestSimulate_givesReplacementsThePlannedTolerations(t *testing.T) {
	t.Parallel()
	p := pod("p", "n1")
	w := newWorld(node("n1"), node("n2", "b:NoSchedule")).run(p)
	change := tainting("n1", "a:NoExecute")
	if _, out := simulate(w, change); out.Pending != number(1) {
		t.Errorf("without: %+v", out)
	}
	key := snapshot.WorkloadKey{Namespace: p.Namespace, Owner: w.Owner(p)}
	change.Tolerations = map[snapshot.WorkloadKey]Planned{key: {After: []corev1.Toleration{exists("b", "")}, Sure: true}}
	if _, out := simulate(w, change); out.Placed != number(1) {
		t.Errorf("with: %+v", out)
	}
}

// The feature gate decides whether the pod on n2 is evicted: nothing else has room for web.
func TestSimulate_aPodThatMayStayMayKeepItsRoom(t *testing.T) {
	t.Parallel()
	maybe := pod("maybe", "n2", ownedBy("ReplicaSet", "maybe"), asking(1, 1), tolerating(lessThan("level", "10")))
	web := pod("web", "n1", ownedBy("ReplicaSet", "web"), asking(1, 1), tolerating(exists("level", "")), selecting("kubernetes.io/hostname", "n2"))
	for name, tt := range map[string]struct {
		comparison   Comparison
		pending      placement.Range
		maybePending placement.Range
	}{
		"the gate is off":       {comparison: ComparisonOff, maybePending: number(1)},
		"the gate is on":        {comparison: ComparisonOn, pending: number(1)},
		"the gate is not known": {pending: placement.Range{Max: 1}, maybePending: placement.Range{Max: 1}},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 1)).run(maybe, web)
		report := Evaluate(w.Snapshot, Scenario{Taints: map[string][]corev1.Taint{"n1": taintsOf("a:NoExecute"), "n2": taintsOf("level=5:NoExecute")}}, tt.comparison)
		out := report.Outcome()
		if got := outcomeOf(t, out, "web"); got.Pending != tt.pending {
			t.Errorf("%s: of web %v are Pending, want %v", name, got.Pending, tt.pending)
		}
		for _, o := range out.Workloads {
			if o.Name == "maybe" && o.Pending != tt.maybePending {
				t.Errorf("%s: of maybe %v are Pending, want %v", name, o.Pending, tt.maybePending)
			}
		}
	}
}
