// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package recorded_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/recorded"
)

// A recording has what decides on evicted pods of Jobs and StatefulSets and their grace periods, with hashed names as well.
func TestWrite_keepsLimitsOfJobsAndPoliciesOfStatefulSets(t *testing.T) {
	t.Parallel()
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "batch", UID: "uid-batch"}, Spec: batchv1.JobSpec{
		BackoffLimit: new(int32(3)), BackoffLimitPerIndex: new(int32(1)), MaxFailedIndexes: new(int32(2)), ManagedBy: new(batchv1.JobControllerName), PodReplacementPolicy: new(batchv1.Failed),
		PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
			{Action: "FailJob", OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{ContainerName: new("main"), Operator: "NotIn", Values: []int32{42}}},
			{Action: "Ignore", OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		}},
	}, Status: batchv1.JobStatus{
		Failed: 1, FailedIndexes: new("1,3-5"), Succeeded: 1, UncountedTerminatedPods: &batchv1.UncountedTerminatedPods{Failed: []types.UID{"x"}, Succeeded: []types.UID{"y"}},
	}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db", UID: "uid-db"}, Spec: appsv1.StatefulSetSpec{PodManagementPolicy: appsv1.ParallelPodManagement}}
	api := withMonitoring(job, set, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n2", UID: "n2", Labels: map[string]string{"pool": "1"}}})
	defer api.Close()
	for i, owner := range [][]metav1.OwnerReference{controlled("batch/v1", "Job", "batch"), controlled("apps/v1", "StatefulSet", "db"), controlled("apps/v1", "StatefulSet", "db")} {
		name := fmt.Sprintf("%s-%d", owner[0].Name, i)
		api.Add(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), OwnerReferences: owner}, Spec: corev1.PodSpec{NodeName: "n2", TerminationGracePeriodSeconds: new(int64(600)), Containers: []corev1.Container{{Name: "main"}}}})
	}
	want, live := judged(t, connect(t, api.Client()))
	if one := live.Jobs["uid-batch"]; one == nil || one.Failed != 2 || one.FailedIndexes != 4 || one.Succeeded != 2 || !one.WorkQueue || len(one.Rules) != 2 || len(live.Ordered) != 1 {
		t.Fatalf("the cluster has the Job %+v and the policies %v", one, live.Ordered)
	}
	for _, hashed := range []bool{false, true} {
		file, _ := record(t, api.Client(), recorded.Options{HashNames: hashed})
		got, s := judged(t, connect(t, read(t, file).Transport()))
		if diff := cmp.Diff(live.Jobs, s.Jobs); diff != "" {
			t.Errorf("hashed %t: %s", hashed, diff)
		}
		graces := 0
		for _, pods := range s.Pods {
			for _, p := range pods {
				if p.Grace == 600 {
					graces++
				}
			}
		}
		if graces != 3 {
			t.Errorf("hashed %t: %d pods of 3 have their grace period", hashed, graces)
		}
		for _, ordered := range s.Ordered {
			if ordered || len(s.Ordered) != 1 {
				t.Errorf("hashed %t: policies %v", hashed, s.Ordered)
			}
		}
		if len(s.Ordered) == 0 || got.UnknownJobs != want.UnknownJobs {
			t.Errorf("hashed %t: policies %v, Jobs unknown %t", hashed, s.Ordered, got.UnknownJobs)
		}
	}
}
