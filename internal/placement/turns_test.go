// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// short are two ordered StatefulSets and a Deployment of three pods each in a namespace whose quota leaves so many of the nine.
// Many pods of another namespace are evicted by another change, so that few orders are tried.
func short(left int64, after map[string]int64, elsewhere int, seed uint64) *Outcome {
	w := newWorld(having(node("n1"), 200, 200), having(node("n2"), 200, 200)).run(replicas("web", "n1", 3, asking(1, 1))...)
	w.Nodes["n1"].Allocatable.Pods, w.Nodes["n2"].Allocatable.Pods = 200, 200
	for _, set := range []string{"one", "two"} {
		w = w.run(replicas(set, "n1", 3, asking(1, 1), ownedBy("StatefulSet", set))...)
	}
	w = w.run(replicas("many", "n1", elsewhere, asking(1, 1), func(p *snapshot.Pod) { p.Namespace = "other" })...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", left, 9))}}
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Ordered = evicted[i].Pod.Controller.StatefulSet()
		evicted[i].Elsewhere = evicted[i].Pod.Namespace == "other"
		evicted[i].After = after[evicted[i].Pod.Controller.Name]
	}
	return w.outcome(evicted, seed)
}

// The pods of an ordered StatefulSet come one after the other, and those of a Deployment immediately. A controller that has been
// refused waits: others may create all of their pods meanwhile.
func TestTurns_anyWorkloadMayGetWhatAQuotaLeaves(t *testing.T) {
	t.Parallel()
	out := short(3, nil, 0, 1)
	for _, name := range []string{"web", "one", "two"} {
		if got := out.of(t, name); got.Missing != (Range{0, 3}) {
			t.Errorf("%s: %v pods are missing", name, got.Missing)
		}
	}
	if out.Refused != exactly(6) {
		t.Errorf("%v pods are refused", out.Refused)
	}
	// Workloads take turns in some of the first orders, since few are tried here.
	for seed := range uint64(10) {
		if few := short(3, nil, 80, seed); few.of(t, "one").Missing.Min == 0 || few.of(t, "two").Missing.Min == 0 {
			return
		}
	}
	t.Error("no StatefulSet ever gets what a quota leaves where few orders are tried")
}

// Pods that are gone later free what they use of a quota for others, too.
func TestTurns_comeAtEachMoment(t *testing.T) {
	t.Parallel()
	out := short(6, map[string]int64{"two": 60}, 0, 1)
	for name, want := range map[string]Range{"web": {0, 3}, "one": {0, 3}, "two": {0, 3}} {
		if got := out.of(t, name); got.Missing != want {
			t.Errorf("%s: %v pods are missing, want %v", name, got.Missing, want)
		}
	}
}

func TestTurns_whoTakesThem(t *testing.T) {
	t.Parallel()
	overdue := func(p *snapshot.Pod) { p.Terminating, p.Overdue = true, true }
	for name, tt := range map[string]struct {
		limit snapshot.QuotaLimit
		stays []podOption
		want  int
	}{
		"none where a quota leaves enough":                {of("pods", 6, 3), nil, 0},
		"one until the evicted pods have terminated":      {of("pods", 5, 3), nil, 1},
		"a workload that it leaves too little for":        {of("pods", 2, 3), nil, 1},
		"a workload that other pods leave too little for": {of("pods", 3, 4), nil, 1},
		"one while an overdue pod stays":                  {of("count/pods", 3, 4), []podOption{overdue}, 1},
	} {
		// Those of apart have a PriorityClass, which only the second quota counts.
		w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).run(replicas("web", "n1", 3, asking(1, 1))...).
			run(replicas("apart", "n1", 2, asking(1, 1), classed("c", 0))...)
		w.PriorityClasses = snapshot.PriorityClasses{"c": {}}
		if tt.stays != nil {
			w = w.run(replicas("old", "n2", 1, append(tt.stays, asking(1, 1))...)...)
		}
		own := quota("q", nil, tt.limit)
		own.Scopes = []corev1.ScopedResourceSelectorRequirement{{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpDoesNotExist}}
		w.Quotas = snapshot.Quotas{"app": {own, quota("apart", []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopePriorityClass}, of("pods", 4, 2))}}
		if s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")); len(s.turns.short) != tt.want {
			t.Errorf("%s: %d workloads take turns", name, len(s.turns.short))
		}
	}
}

// A quota counts evicted pods until they have terminated: then either controller may be the first to try again, and its pod is
// placed before that of the other one, whatever their priorities. n2 has room for one pod
// without preemption, and a PodDisruptionBudget protects those of low.
func TestTurns_aPodOfALowerPriorityMayComeFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
		run(replicas("high", "n1", 1, asking(1, 1), priority(10))...).run(replicas("low", "n1", 1, asking(1, 1), labelledAs("app", "low"))...).
		run(replicas("other", "n2", 1, asking(1, 1), labelledAs("app", "other"))...).protect("low", 0)
	for hard, preempted := range map[int64]Range{3: {0, 1}, 5: exactly(0)} {
		w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", hard, 3))}}
		out := inOneWave(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")).try(Orders, 1)
		if out.Preempted != preempted || out.of(t, "high").Missing != exactly(0) {
			t.Errorf("a quota of %d pods: preempted %v, %+v", hard, out.Preempted, out.Workloads)
		}
	}
}
