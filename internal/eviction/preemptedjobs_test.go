// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// aJobIsPreempted has web evicted from n1, which preempts a pod of a Job on n2. The pod that the Job creates instead takes
// the room on n3 from that of api.
func aJobIsPreempted(more ...*snapshot.Pod) world {
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 4, 4)).run(
		pod("web", "n1", asking(4, 4), priority(9), selecting("kubernetes.io/hostname", "n2")),
		pod("api", "n1", ownedBy("StatefulSet", "api"), asking(4, 4)), pod("b", "n2", ofJob("batch"), asking(4, 4), priority(5)))
	return w.run(more...)
}

func TestSimulate_preemptedPodsCountTowardsTheBackoffLimit(t *testing.T) {
	t.Parallel()
	ignoring := []snapshot.FailureRule{{Action: batchv1.PodFailurePolicyActionIgnore, Disruption: true}}
	a, maybeA := pod("a", "n1", ofJob("batch")), pod("a", "n1", ofJob("batch"), tolerating(lessThan("a", "5")))
	maybe := placement.Range{Max: 1}
	for name, tt := range map[string]struct {
		job       *snapshot.Job
		more      *snapshot.Pod
		lost, api placement.Range
		unread    bool
		// why is what is said of the pod that the change evicts.
		why string
	}{
		"below the limit":                         {job: &snapshot.Job{BackoffLimit: 1}, api: number(1)},
		"above the limit":                         {job: &snapshot.Job{}, lost: number(1)},
		"pods that have failed count":             {job: &snapshot.Job{BackoffLimit: 6, Failed: 6}, lost: number(1)},
		"disruptions are ignored":                 {job: &snapshot.Job{Rules: ignoring}, api: number(1)},
		"whether it fails is not known":           {job: &snapshot.Job{OnlyFailed: true}, lost: maybe, api: maybe},
		"its index fails alone":                   {job: &snapshot.Job{BackoffLimit: 9, PerIndex: new(int32(0))}, lost: number(1)},
		"it has ended":                            {job: &snapshot.Job{Ended: true}, lost: number(1)},
		"it was not read":                         {api: number(1), unread: true},
		"an evicted pod and a preempted one fail": {job: &snapshot.Job{BackoffLimit: 1}, more: a, lost: number(2), why: "its Job fails, since more of its pods are evicted"},
		"the limit allows both":                   {job: &snapshot.Job{BackoffLimit: 2}, more: a, api: number(1)},
		"another pod may be evicted":              {job: &snapshot.Job{BackoffLimit: 1}, more: maybeA, lost: placement.Range{Max: 2}, api: maybe},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := aJobIsPreempted()
			if tt.more != nil {
				w = aJobIsPreempted(tt.more)
			}
			if tt.job != nil {
				w = w.job("batch", *tt.job)
			}
			r := Evaluate(w.Snapshot, tainting("n1", "a=3:NoExecute"), ComparisonUnknown)
			out := r.Outcome()
			if out.Preempted != number(1) || out.Lost != tt.lost || outcomeOf(t, out, "api").Missing != tt.api || out.UnreadJobs != tt.unread {
				t.Errorf("%v are lost, and %v replacements of api are missing; not read %t: %+v", out.Lost, outcomeOf(t, out, "api").Missing, out.UnreadJobs, out.Workloads)
			}
			if s := r.Summary(); s.LostPods() != tt.lost {
				t.Errorf("the summary has %v", s.LostPods())
			}
			if err := (Limits{MaxLost: new(int64(0))}).Check(r); (err != nil) != (tt.lost.Max > 0) {
				t.Errorf("max_lost = 0: %v", err)
			}
			if tt.why != "" {
				if v := about(t, r, "a"); !strings.HasSuffix(r.Why(v), tt.why) || r.Placement(v) != "" || !r.Gone(v) {
					t.Errorf("of the evicted pod it says %q, %q", r.Why(v), r.Placement(v))
				}
			}
		})
	}
}

// TestSimulate_podsOfAJobThatFailsByPreemptionAreNotProvedPending: a fits nowhere, and its Job does not create it.
func TestSimulate_podsOfAJobThatFailsByPreemptionAreNotProvedPending(t *testing.T) {
	t.Parallel()
	nowhere := pod("a", "n1", ofJob("batch"), asking(4, 4), selecting("kubernetes.io/hostname", "n9"))
	for limit, want := range map[int32]struct {
		proved int
		lost   placement.Range
	}{9: {proved: 1}, 1: {lost: number(2)}} {
		out := Evaluate(aJobIsPreempted(nowhere).job("batch", snapshot.Job{BackoffLimit: limit}).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff).Outcome()
		if got := outcomeOf(t, out, "batch"); got.Proved != want.proved || out.Lost != want.lost {
			t.Errorf("with the limit %d, %d are proved to be Pending, and %v are lost", limit, got.Proved, out.Lost)
		}
	}
}
