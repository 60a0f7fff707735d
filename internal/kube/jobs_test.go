// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

func podOfJob(namespace, name string) *snapshot.Pod {
	owner := snapshot.Owner{Group: "batch", Kind: "Job", Name: name}
	return &snapshot.Pod{Namespace: namespace, Name: name + "-x", Node: "n1", Scheduling: &snapshot.Scheduling{}, Controller: &snapshot.Controller{Owner: owner, UID: types.UID(namespace + name)}}
}

// The requests for Jobs follow the number of Jobs whose pods are evicted.
func TestJudge_readsTheJobsOfEvictedPods(t *testing.T) {
	t.Parallel()
	const list = "GET jobs 200"
	refused := func(verbs ...string) faulty {
		return func(r fakeapi.Request, _ int) fakeapi.Fault {
			for _, verb := range verbs {
				if r.Verb == verb && r.Resource == "jobs" {
					return http.StatusForbidden
				}
			}
			return fakeapi.None
		}
	}
	completed := podOfJob("a", "one")
	completed.Completed = true
	for name, tt := range map[string]struct {
		evicted  []*snapshot.Pod
		fault    faulty
		requests []string
		known    map[types.UID]int32
	}{
		"no pod of a Job":   {evicted: []*snapshot.Pod{podOf("a", "x-0")}},
		"a completed pod":   {evicted: []*snapshot.Pod{completed}},
		"pods of one Job":   {evicted: []*snapshot.Pod{podOfJob("a", "one"), podOfJob("a", "one")}, requests: []string{"GET one 200"}, known: map[types.UID]int32{"aone": 1}},
		"pods of two":       {evicted: []*snapshot.Pod{podOfJob("a", "one"), podOfJob("a", "two")}, requests: []string{list}, known: map[types.UID]int32{"aone": 1, "atwo": 2}},
		"one that is gone":  {evicted: []*snapshot.Pod{podOfJob("a", "gone")}, requests: []string{"GET gone 404"}},
		"one with no limit": {evicted: []*snapshot.Pod{podOfJob("a", "old")}, requests: []string{"GET old 200"}},
		"no right to get":   {evicted: []*snapshot.Pod{podOfJob("a", "one")}, fault: refused("get"), requests: []string{"GET one 403", list}, known: map[types.UID]int32{"aone": 1}},
		"no right at all":   {evicted: []*snapshot.Pod{podOfJob("a", "one")}, fault: refused("get", "list"), requests: []string{"GET one 403", "GET jobs 403"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1"))
			for name, limit := range map[string]*int32{"one": new(int32(1)), "two": new(int32(2)), "old": nil} {
				api.Add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID("a" + name)}, Spec: batchv1.JobSpec{BackoffLimit: limit}})
			}
			c := api.connect(t)
			s, err := recreating(t, c)
			if err != nil {
				t.Fatal(err)
			}
			api.requests()
			api.fault = tt.fault
			for range 2 {
				if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: tt.evicted} }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.requests, api.requests()); diff != "" {
					t.Error(diff)
				}
				tt.requests = nil
			}
			var got map[types.UID]int32
			for uid, job := range s.Jobs {
				if got == nil {
					got = map[types.UID]int32{}
				}
				got[uid] = job.BackoffLimit
			}
			if diff := cmp.Diff(tt.known, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestJobOf(t *testing.T) {
	t.Parallel()
	limit := new(int32(6))
	on := func(action batchv1.PodFailurePolicyAction, rule batchv1.PodFailurePolicyRule) *batchv1.PodFailurePolicy {
		rule.Action = action
		return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{rule}}
	}
	codes := &batchv1.PodFailurePolicyOnExitCodesRequirement{Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{42}}
	conditions := func(of corev1.PodConditionType, status corev1.ConditionStatus) batchv1.PodFailurePolicyRule {
		return batchv1.PodFailurePolicyRule{OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: of, Status: status}}}
	}
	condition := func(of batchv1.JobConditionType) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: of, Status: corev1.ConditionTrue}}}
	}
	for name, tt := range map[string]struct {
		spec   batchv1.JobSpec
		status batchv1.JobStatus
		want   *snapshot.Job
	}{
		"no limit":                              {},
		"a work queue":                          {spec: batchv1.JobSpec{BackoffLimit: limit, Parallelism: new(int32(2))}, status: batchv1.JobStatus{Succeeded: 1}, want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Succeeded: 1}},
		"succeeded pods that are counted later": {spec: batchv1.JobSpec{BackoffLimit: limit}, status: batchv1.JobStatus{UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Succeeded: []types.UID{"x"}}}, want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Succeeded: 1}},
		"completions":                           {spec: batchv1.JobSpec{BackoffLimit: limit, Completions: new(int32(3))}, status: batchv1.JobStatus{Succeeded: 2}, want: &snapshot.Job{BackoffLimit: 6, Succeeded: 2}},
		"another controller":                    {spec: batchv1.JobSpec{BackoffLimit: limit, ManagedBy: new("kueue.x-k8s.io/multikueue")}},
		"Kubernetes' controller":                {spec: batchv1.JobSpec{BackoffLimit: limit, ManagedBy: new(batchv1.JobControllerName)}, want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true}},
		"pods that are counted later":           {spec: batchv1.JobSpec{BackoffLimit: limit}, status: batchv1.JobStatus{Failed: 2, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"x"}}}, want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Failed: 3}},
		"suspended":                             {spec: batchv1.JobSpec{BackoffLimit: limit, Suspend: new(true)}, want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Ended: true}},
		"failed":                                {spec: batchv1.JobSpec{BackoffLimit: limit}, status: condition(batchv1.JobFailureTarget), want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Ended: true}},
		"was suspended":                         {spec: batchv1.JobSpec{BackoffLimit: limit}, status: condition(batchv1.JobSuspended), want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true}},
		"indexes": {
			spec: batchv1.JobSpec{BackoffLimit: limit, BackoffLimitPerIndex: new(int32(0)), MaxFailedIndexes: new(int32(4))}, status: batchv1.JobStatus{FailedIndexes: new("1,3-5,x")},
			want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, PerIndex: new(int32(0)), MaxFailedIndexes: new(int32(4)), FailedIndexes: 4},
		},
		"exit codes": {
			spec: batchv1.JobSpec{BackoffLimit: limit, PodFailurePolicy: on("FailJob", batchv1.PodFailurePolicyRule{OnExitCodes: codes})},
			want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Rules: []snapshot.FailureRule{{Action: "FailJob", ExitCodes: []int32{42}, NotIn: true}}},
		},
		"disruptions": {
			spec: batchv1.JobSpec{BackoffLimit: limit, PodFailurePolicy: on("Ignore", conditions(corev1.DisruptionTarget, corev1.ConditionTrue))},
			want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Rules: []snapshot.FailureRule{{Action: "Ignore", Disruption: true}}},
		},
		"no disruption": {
			spec: batchv1.JobSpec{BackoffLimit: limit, PodFailurePolicy: on("Ignore", conditions(corev1.DisruptionTarget, corev1.ConditionFalse))},
			want: &snapshot.Job{BackoffLimit: 6, WorkQueue: true, Rules: []snapshot.FailureRule{{Action: "Ignore"}}},
		},
	} {
		got, known := jobOf(&batchv1.Job{Spec: tt.spec, Status: tt.status})
		if diff := cmp.Diff(tt.want, got); diff != "" || known != (tt.want != nil) {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
