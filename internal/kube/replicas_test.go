// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestJobPods(t *testing.T) {
	t.Parallel()
	condition := func(c batchv1.JobConditionType) batchv1.JobStatus {
		return batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: c, Status: corev1.ConditionTrue}}}
	}
	for name, tt := range map[string]struct {
		job  batchv1.Job
		want int
	}{
		"one pod by default":                              {batchv1.Job{}, 1},
		"as many as run in parallel":                      {batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(9))}}, 4},
		"as many as are left":                             {batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(4)), Completions: new(int32(9))}, Status: batchv1.JobStatus{Succeeded: 7}}, 2},
		"none once all have succeeded":                    {batchv1.Job{Spec: batchv1.JobSpec{Completions: new(int32(2))}, Status: batchv1.JobStatus{Succeeded: 2}}, 0},
		"none of a work queue in which one succeeded":     {batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(4))}, Status: batchv1.JobStatus{Succeeded: 1}}, 0},
		"all of a work queue in which none has":           {batchv1.Job{Spec: batchv1.JobSpec{Parallelism: new(int32(4))}}, 4},
		"none of a Job that is complete":                  {batchv1.Job{Status: condition(batchv1.JobComplete)}, 0},
		"none of a Job that has failed":                   {batchv1.Job{Status: condition(batchv1.JobFailed)}, 0},
		"none of a Job that is suspended":                 {batchv1.Job{Status: condition(batchv1.JobSuspended)}, 0},
		"one of a Job that is about to fail, and has not": {batchv1.Job{Status: condition(batchv1.JobFailureTarget)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&tt.job)
			if err != nil {
				t.Fatal(err)
			}
			if got, known := jobPods(&unstructured.Unstructured{Object: object}); got != tt.want || !known {
				t.Errorf("it has %d pods (%t), want %d", got, known, tt.want)
			}
		})
	}
}

func TestWhyNotReady(t *testing.T) {
	t.Parallel()
	unready := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "containers with unready status: [main]"}
	waiting := []corev1.ContainerStatus{{Name: "main", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}}}}
	for name, tt := range map[string]struct {
		status corev1.PodStatus
		want   string
	}{
		"the scheduler's message":          {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/2 nodes are available."}}}, "0/2 nodes are available"},
		"what a container waits for":       {corev1.PodStatus{Conditions: []corev1.PodCondition{unready}, ContainerStatuses: waiting}, "container main: ImagePullBackOff"},
		"what an init container waits for": {corev1.PodStatus{InitContainerStatuses: waiting}, "container main: ImagePullBackOff"},
		"that a probe fails":               {corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, unready}}, "containers with unready status: [main]"},
		"nothing of a pod without status":  {corev1.PodStatus{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := whyNotReady(corev1.Pod{Status: tt.status}); got != tt.want {
				t.Errorf("it returns %q, want %q", got, tt.want)
			}
		})
	}
}
