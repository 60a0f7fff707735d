// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestRoll_newPodsPreempt pins pods of a high priority to g1, which has room for two pods of one core, and has one of a low priority.
func TestRoll_newPodsPreempt(t *testing.T) {
	t.Parallel()
	exactly := func(n int) placement.Range { return placement.Range{Min: n, Max: n} }
	for name, tt := range map[string]struct {
		pods                           int
		surge, unavailable             int
		on                             string
		low                            int
		preempted, missing, ownMissing placement.Range
		preempts                       bool
	}{
		"room for the new pods":                        {pods: 1, surge: 1, on: "c1", low: 1, preempts: true},
		"room for one of two":                          {pods: 2, surge: 2, on: "c1", low: 1, preempted: exactly(1), missing: exactly(1), preempts: true},
		"a surge beside old pods of the pool":          {pods: 1, surge: 1, on: "g1", low: 1, preempted: exactly(1), preempts: true},
		"old pods of the pool that are deleted first":  {pods: 1, unavailable: 1, on: "g1", low: 1, preempts: true},
		"more than all that preemption makes room for": {pods: 3, surge: 3, on: "c1", low: 1, preempted: exactly(1), missing: exactly(2), ownMissing: exactly(1), preempts: true},
		"none of a lower priority":                     {pods: 3, surge: 3, on: "c1", missing: exactly(1), ownMissing: exactly(1)},
	} {
		w := newWorld(having(labelled(node("g1"), "pool", "gpu"), 2, 9), having(node("c1"), 9, 9))
		rollout := rolloutOf(tt.surge, tt.unavailable)
		for i := range tt.pods {
			one := pod("web-"+string(rune('0'+i)), tt.on, asking(1, 0), priority(9))
			w, rollout.Pods = w.run(one), append(rollout.Pods, one)
		}
		for range tt.low {
			w = w.run(pod("low", "g1", asking(1, 0), ownedBy("ReplicaSet", "low"), selecting("pool", "gpu")))
		}
		rolled, _, out := Roll(w.Snapshot, []Rollout{rollout}, ComparisonOff)
		if out.Preempted != tt.preempted || out.Staying != tt.missing || rolled[0].Missing != tt.ownMissing {
			t.Errorf("%s: preempted %v, Pending %v, %v of its own", name, out.Preempted, out.Staying, rolled[0].Missing)
		}
		if report := ReportOf(func() *placement.Outcome { return out }); report.Summary().Preempted != tt.preempted || len(report.Outcome().Victims) != tt.preempted.Max {
			t.Errorf("%s: the report says %+v", name, report.Summary())
		}
		if got := MayPreempt(w.Snapshot, rollout.Pods); got != tt.preempts {
			t.Errorf("%s: may preempt: %t", name, got)
		}
	}
}

func TestMayPreempt_podsThatPreemptNone(t *testing.T) {
	t.Parallel()
	high := pod("high", "n1", asking(1, 0), priority(9))
	w := newWorld(node("n1")).run(high, pod("low", "n1", asking(1, 0)))
	if !MayPreempt(w.Snapshot, []*snapshot.Pod{high}) {
		t.Error("it may preempt")
	}
	high.Demand.Patient = true
	if MayPreempt(w.Snapshot, []*snapshot.Pod{high}) || MayPreempt(w.Snapshot, nil) {
		t.Error("nothing may preempt")
	}
}
