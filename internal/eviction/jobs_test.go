// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// The cases are those of syncJob, matchPodFailurePolicy and isIndexFailed
// (k8s.io/kubernetes v1.37.2 pkg/controller/job).
func TestFateOf(t *testing.T) {
	t.Parallel()
	disruption := func(action batchv1.PodFailurePolicyAction) snapshot.FailureRule {
		return snapshot.FailureRule{Action: action, Disruption: true}
	}
	codes := func(action batchv1.PodFailurePolicyAction, not bool, codes ...int32) snapshot.FailureRule {
		return snapshot.FailureRule{Action: action, ExitCodes: codes, NotIn: not}
	}
	const (
		ignore    = batchv1.PodFailurePolicyActionIgnore
		count     = batchv1.PodFailurePolicyActionCount
		failJob   = batchv1.PodFailurePolicyActionFailJob
		failIndex = batchv1.PodFailurePolicyActionFailIndex
	)
	rules := func(all ...snapshot.FailureRule) []snapshot.FailureRule { return all }
	for name, tt := range map[string]struct {
		job              snapshot.Job
		deleted          bool
		evicted, perhaps int
		want             string
	}{
		"below the limit":                                           {job: snapshot.Job{BackoffLimit: 6}, evicted: 6},
		"above the limit":                                           {job: snapshot.Job{BackoffLimit: 6}, evicted: 7, want: "its Job fails: backoffLimit 6"},
		"a limit of 0":                                              {job: snapshot.Job{}, evicted: 1, want: "its Job fails: backoffLimit 0"},
		"pods that have failed count":                               {job: snapshot.Job{BackoffLimit: 6, Failed: 6}, evicted: 1, want: "its Job fails: backoffLimit 6"},
		"no pod is evicted":                                         {job: snapshot.Job{Failed: 1}},
		"one that may be evicted decides":                           {job: snapshot.Job{BackoffLimit: 1}, evicted: 1, perhaps: 1, want: "unknown"},
		"one that may be evicted does not decide":                   {job: snapshot.Job{BackoffLimit: 0}, evicted: 1, perhaps: 1, want: "its Job fails: backoffLimit 0"},
		"a Job that has ended":                                      {job: snapshot.Job{Ended: true}, evicted: 1, want: "its Job creates no more pods"},
		"pods that may end well":                                    {job: snapshot.Job{OnlyFailed: true}, evicted: 1, want: "unknown"},
		"pods that may end well, or are ignored":                    {job: snapshot.Job{OnlyFailed: true, Rules: rules(disruption(ignore))}, evicted: 1},
		"disruptions are ignored":                                   {job: snapshot.Job{Rules: rules(disruption(ignore))}, evicted: 3},
		"a deleted pod has no such condition":                       {job: snapshot.Job{Rules: rules(disruption(ignore))}, deleted: true, evicted: 1, want: "its Job fails: backoffLimit 0"},
		"a rule on another condition":                               {job: snapshot.Job{Rules: rules(snapshot.FailureRule{Action: ignore})}, evicted: 1, want: "its Job fails: backoffLimit 0"},
		"disruptions count":                                         {job: snapshot.Job{BackoffLimit: 1, Rules: rules(disruption(count))}, evicted: 2, want: "its Job fails: backoffLimit 1"},
		"disruptions fail the Job":                                  {job: snapshot.Job{BackoffLimit: 6, Rules: rules(disruption(failJob))}, evicted: 1, want: "its Job fails: podFailurePolicy"},
		"the first rule that matches decides":                       {job: snapshot.Job{Rules: rules(disruption(ignore), disruption(failJob))}, evicted: 1},
		"an exit code of the program before":                        {job: snapshot.Job{Rules: rules(codes(failJob, false, 42), disruption(ignore))}, evicted: 1},
		"the exit code of SIGTERM before":                           {job: snapshot.Job{Rules: rules(codes(failJob, false, 143), disruption(ignore))}, evicted: 1, want: "unknown"},
		"all exit codes but 42 before":                              {job: snapshot.Job{Rules: rules(codes(failJob, true, 42), disruption(ignore))}, evicted: 1, want: "unknown"},
		"all exit codes but 42 after":                               {job: snapshot.Job{Rules: rules(disruption(ignore), codes(failJob, true, 42))}, evicted: 1},
		"all exit codes but 143 and 137 before":                     {job: snapshot.Job{Rules: rules(codes(failJob, true, 137, 143), disruption(ignore))}, evicted: 1},
		"exit codes that lead to the same":                          {job: snapshot.Job{Rules: rules(codes(count, false, 143))}, evicted: 1, want: "its Job fails: backoffLimit 0"},
		"a limit of 0 for each index":                               {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(0))}, evicted: 3, want: "its index fails: backoffLimitPerIndex 0"},
		"a higher limit for each index":                             {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(1))}, evicted: 1, want: "unknown"},
		"a higher limit, and disruptions are ignored":               {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(1)), Rules: rules(disruption(ignore))}, evicted: 1},
		"disruptions fail their index":                              {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(5)), Rules: rules(disruption(failIndex))}, evicted: 1, want: "its index fails: podFailurePolicy"},
		"as many indexes as may fail":                               {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(0)), MaxFailedIndexes: new(int32(2)), FailedIndexes: 1}, evicted: 1, want: "its index fails: backoffLimitPerIndex 0"},
		"a work queue with a pod that has ended well":               {job: snapshot.Job{WorkQueue: true, Succeeded: 1, BackoffLimit: 6}, evicted: 1, want: "its Job creates no more pods"},
		"a work queue without one":                                  {job: snapshot.Job{WorkQueue: true, BackoffLimit: 6}, evicted: 1},
		"as many completions as are wanted, and one has ended well": {job: snapshot.Job{Succeeded: 1, BackoffLimit: 6}, evicted: 1},
		"a work queue that fails":                                   {job: snapshot.Job{WorkQueue: true, Succeeded: 1}, evicted: 1, want: "its Job fails: backoffLimit 0"},
		"a work queue that may fail":                                {job: snapshot.Job{WorkQueue: true, Succeeded: 1, OnlyFailed: true}, evicted: 1, want: "unknown, its Job creates no more pods"},
		"a work queue whose pods may be evicted":                    {job: snapshot.Job{WorkQueue: true, Succeeded: 1, BackoffLimit: 6}, perhaps: 1, want: "its Job creates no more pods"},
		"more indexes than may fail":                                {job: snapshot.Job{BackoffLimit: 99, PerIndex: new(int32(0)), MaxFailedIndexes: new(int32(2)), FailedIndexes: 2}, evicted: 1, want: "its Job fails: maxFailedIndexes 2"},
	} {
		got := fateOf(&tt.job, !tt.deleted, tt.evicted, tt.perhaps)
		text := ""
		switch {
		case got.unknown && got.fails != "":
			text = "unknown, " + got.fails
		case got.unknown:
			text = "unknown"
		case got.fails != "":
			text = got.String()
		}
		if text != tt.want {
			t.Errorf("%s: %q, want %q", name, text, tt.want)
		}
	}
}

// ofJob is a pod of a Job.
func ofJob(name string) podOption {
	return func(p *snapshot.Pod) {
		p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "batch", Kind: "Job", Name: name}, UID: types.UID("Job-" + name)}
	}
}

func (w world) job(name string, job snapshot.Job) world {
	if w.Jobs == nil {
		w.Jobs = map[types.UID]*snapshot.Job{}
	}
	w.Jobs[types.UID("Job-"+name)] = &job
	return w
}

func TestEvaluate_podsOfAJobThatFailsAreLost(t *testing.T) {
	t.Parallel()
	const change = "a:NoExecute"
	base := func() world {
		return newWorld(node("n1"), node("n2")).run(
			pod("a", "n1", ofJob("batch")), pod("b", "n1", ofJob("batch"), completed), pod("other", "n1", ofJob("fine")),
			pod("c", "n2", ofJob("batch")), pod("d", "n2", ofJob("batch"), terminating), pod("e", "n2", ofJob("batch"), completed),
		).job("fine", snapshot.Job{BackoffLimit: 6})
	}
	r := Evaluate(base().job("batch", snapshot.Job{}).Snapshot, tainting("n1", change), ComparisonOff)
	a := about(t, r, "a")
	if !a.Lost || !r.Gone(a) || r.Placement(a) != "" || !strings.HasSuffix(r.Why(a), "; its Job fails: backoffLimit 0, which deletes 1 more") || a.OtherPods != 1 {
		t.Errorf("a: %+v, %q", a, r.Why(a))
	}
	if other := about(t, r, "other"); other.Lost || r.Placement(other) != "fits" {
		t.Errorf("the pod of another Job: %+v", other)
	}
	var none int64
	if exceeded := (Limits{MaxLost: &none}).Check(r); exceeded == nil {
		t.Error("max_lost does not count it")
	}
	if s := r.Summary(); s.Lost != 1 || s.Completed != 1 || s.Evicted() != 2 || r.UnknownJobs {
		t.Errorf("the summary is %+v", s)
	}
	r = Evaluate(base().Snapshot, tainting("n1", change), ComparisonOff)
	if a = about(t, r, "a"); a.Lost || r.Placement(a) != "fits" || !r.UnknownJobs || !Join(r).UnknownJobs {
		t.Errorf("a Job that was not read: %+v", a)
	}
	drain := draining("n1")
	drain.Deletes = true
	ignoring := snapshot.Job{Rules: []snapshot.FailureRule{{Action: batchv1.PodFailurePolicyActionIgnore, Disruption: true}}}
	if r = Evaluate(base().job("batch", ignoring).Snapshot, drain, ComparisonOff); !about(t, r, "a").Lost {
		t.Error("a drain that deletes pods sets no condition")
	}
	drain.Deletes = false
	if r = Evaluate(base().job("batch", ignoring).Snapshot, drain, ComparisonOff); about(t, r, "a").Lost {
		t.Error("an eviction sets the condition")
	}
}

// A pod that a Job does not create again takes no room.
func TestSimulate_aJobThatFailsLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
		pod("a", "n1", ofJob("batch"), asking(2, 2)), pod("web", "n1", asking(2, 2))).job("batch", snapshot.Job{})
	r := Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	if s := r.Summary(); s.Lost != 1 || s.Unplaced != number(0) {
		t.Errorf("the summary is %+v", s)
	}
}

// The Job has a pod that has ended well: it waits for the others, and creates none in their place.
func TestEvaluate_podsOfAWorkQueueThatEndsAreLost(t *testing.T) {
	t.Parallel()
	run := func(job snapshot.Job) *Report {
		w := newWorld(node("n1"), node("n2")).run(pod("a", "n1", ofJob("batch")), pod("b", "n2", ofJob("batch"))).job("batch", job)
		return Evaluate(w.Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)
	}
	var none int64
	r := run(snapshot.Job{WorkQueue: true, Succeeded: 1, BackoffLimit: 6})
	a := about(t, r, "a")
	if !a.Lost || r.Placement(a) != "" || !strings.HasSuffix(r.Why(a), "; its Job creates no more pods") || len(r.Ended) > 0 || r.UnknownJobs {
		t.Errorf("a: %+v, %q", a, r.Why(a))
	}
	if got := exceeded(Limits{MaxLost: &none}, r); len(got) != 1 || got[0].Count != 1 || !got[0].Certain {
		t.Errorf("max_lost counts %+v", got)
	}
	if r = run(snapshot.Job{WorkQueue: true, Succeeded: 1, OnlyFailed: true}); !about(t, r, "a").Lost || len(r.Ended) != 1 || !r.Ended[0].Unsure {
		t.Errorf("a Job that may fail: %+v", r.Ended)
	}
	if r = run(snapshot.Job{WorkQueue: true, BackoffLimit: 6}); about(t, r, "a").Lost {
		t.Error("no pod has ended well yet")
	}
}
