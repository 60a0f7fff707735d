// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// PriorityClasses are listed once, and only where an evicted pod that a controller recreates names one.
func TestJudge_readsThePriorityClassesThatEvictedPodsName(t *testing.T) {
	t.Parallel()
	const list = "GET priorityclasses 200"
	named := func(name string) *snapshot.Pod {
		p := podOf("a", "x-0")
		p.Demand = &snapshot.Demand{PriorityClass: name}
		return p
	}
	bare := named("high")
	bare.Controller = nil
	want := snapshot.PriorityClasses{"high": {Value: 1000}, "low": {Value: -1, Default: true}, "never": {Value: 5, Patient: true}}
	for name, tt := range map[string]struct {
		evicted  *snapshot.Pod
		fault    faulty
		requests []string
		want     snapshot.PriorityClasses
	}{
		"a pod without one":          {evicted: podOf("a", "x-0")},
		"a pod without a controller": {evicted: bare},
		"one of the system":          {evicted: named("system-cluster-critical")},
		"one of the cluster":         {evicted: named("high"), requests: []string{list}, want: want},
		"one that is gone":           {evicted: named("gone"), requests: []string{list}, want: want},
		"no right to list them":      {evicted: named("high"), fault: onLists(403, "priorityclasses"), requests: []string{"GET priorityclasses 403"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api := newServer(apiNode("n1"))
			policy := corev1.PreemptNever
			for _, class := range []*schedulingv1.PriorityClass{
				{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 1000}, {ObjectMeta: metav1.ObjectMeta{Name: "never"}, Value: 5, PreemptionPolicy: &policy, GlobalDefault: true},
				{ObjectMeta: metav1.ObjectMeta{Name: "low"}, Value: -1, GlobalDefault: true},
			} {
				api.Add(class)
			}
			c := api.connect(t)
			s, err := recreating(t, c)
			if err != nil {
				t.Fatal(err)
			}
			api.requests()
			api.fault = tt.fault
			for range 2 {
				if s, err = c.Judge(t.Context(), s, func(*snapshot.Snapshot) Needs { return Needs{Evicted: []*snapshot.Pod{tt.evicted}} }); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.requests, api.requests()); diff != "" {
					t.Error(diff)
				}
				tt.requests = nil
			}
			if diff := cmp.Diff(tt.want, s.PriorityClasses); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestJudge_looksAgainWhileMoreIsNeeded: what was read may show that other pods need more.
func TestJudge_looksAgainWhileMoreIsNeeded(t *testing.T) {
	t.Parallel()
	for most, want := range map[int]int{0: 1, 1: 2, 2: 3, 9: 4} {
		api := newServer(apiNode("n1"))
		for i := range most {
			name := fmt.Sprint("job-", i)
			api.Add(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: name, UID: types.UID(name)}, Spec: batchv1.JobSpec{BackoffLimit: new(int32(0))}})
		}
		c := api.connect(t)
		s, err := recreating(t, c)
		if err != nil {
			t.Fatal(err)
		}
		judged := 0
		s, err = c.Judge(t.Context(), s, func(s *snapshot.Snapshot) Needs {
			judged++
			name := fmt.Sprint("job-", len(s.Jobs))
			p := podOf("a", name)
			p.Controller = &snapshot.Controller{Owner: snapshot.Owner{Group: "batch", Kind: "Job", Name: name}, UID: types.UID(name)}
			return Needs{Evicted: []*snapshot.Pod{p}}
		})
		if err != nil || judged != want || len(s.Jobs) != want-1 {
			t.Errorf("with %d Jobs, %d are read in %d turns, want %d: %v", most, len(s.Jobs), judged, want, err)
		}
	}
}
