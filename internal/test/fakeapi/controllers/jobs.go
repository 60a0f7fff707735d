// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package controllers

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// job has as many running pods as it wants at the same time, until enough of them have succeeded. No
// pod of these tests fails, and a replacement comes without a delay.
func job(api *fakeapi.Server, j *batchv1.Job) {
	finished := func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded }
	own := owned(api, j)
	running := slices.DeleteFunc(slices.Clone(own), finished)
	// The pods of a Job that are deleted after they have succeeded still count.
	status := *j.Status.DeepCopy()
	status.Succeeded = max(status.Succeeded, int32(len(own)-len(running)))
	status.Active, status.Ready = int32(len(running)), ptr.To(countReady(running))
	wants := min(ptr.Deref(j.Spec.Parallelism, 1), ptr.Deref(j.Spec.Completions, 1)-status.Succeeded)
	if wants <= 0 && len(running) == 0 && len(status.Conditions) == 0 {
		status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	}
	for n := int32(len(running)); n < wants && !forbidden(api, j.Namespace); n++ {
		// Names are never used twice.
		p := podOf(j, "Job", fmt.Sprintf("%s-%05d", j.Name, api.Created(pods)), &j.Spec.Template, hash(api, j, &j.Spec.Template))
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))}
		api.Put(p)
	}
	if !apiequality.Semantic.DeepEqual(j.Status, status) {
		j = j.DeepCopy()
		j.Status = status
		api.Put(j)
	}
}
