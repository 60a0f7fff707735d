// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// short are two ordered StatefulSets and a Deployment of three pods each in a namespace whose quota leaves so many of the nine.
func short(left int64, after map[string]int64) *Outcome {
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).run(replicas("web", "n1", 3, asking(1, 1))...)
	for _, set := range []string{"one", "two"} {
		w = w.run(replicas(set, "n1", 3, asking(1, 1), ownedBy("StatefulSet", set))...)
	}
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", left, 9))}}
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Ordered = evicted[i].Pod.Controller.StatefulSet()
		evicted[i].After = after[evicted[i].Pod.Controller.Name]
	}
	return w.outcome(evicted, 1)
}

// The pods of an ordered StatefulSet come one after the other, and those of a Deployment immediately. A controller that has been
// refused waits: others may create all of their pods meanwhile.
func TestTurns_anyWorkloadMayGetWhatAQuotaLeaves(t *testing.T) {
	t.Parallel()
	out := short(3, nil)
	for _, name := range []string{"web", "one", "two"} {
		if got := out.of(t, name); got.Missing != (Range{0, 3}) {
			t.Errorf("%s: %v pods are missing", name, got.Missing)
		}
	}
	if out.Refused != exactly(6) {
		t.Errorf("%v pods are refused", out.Refused)
	}
}

// Pods that are gone later free what they use of a quota for others, too.
func TestTurns_comeAtEachMoment(t *testing.T) {
	t.Parallel()
	out := short(6, map[string]int64{"two": 60})
	for name, want := range map[string]Range{"web": {0, 3}, "one": {0, 3}, "two": {0, 3}} {
		if got := out.of(t, name); got.Missing != want {
			t.Errorf("%s: %v pods are missing, want %v", name, got.Missing, want)
		}
	}
}

func TestTurns_areNotTakenWhereAQuotaLeavesEnough(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 100, 100)).run(replicas("web", "n1", 3, asking(1, 1))...)
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", 3, 3))}}
	if s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1")); len(s.turns.short) > 0 {
		t.Errorf("%d workloads take turns", len(s.turns.short))
	}
}
