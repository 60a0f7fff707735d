// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/printable"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// DesiredPods returns how many pods a controller is to have now: spec.replicas, and for a Job
// the pods that it has yet to run. A controller that is gone is to have none. It returns false
// where that cannot be read or where the kind has no such number. Errors: those of the API
// server.
func (c *Cluster) DesiredPods(ctx context.Context, key snapshot.WorkloadKey) (pods int, known bool, err error) {
	if len(content.IsPathSegmentName(key.Name)) > 0 || len(content.IsPathSegmentName(key.Namespace)) > 0 {
		// Owner references can have any name: no object has this one.
		return 0, true, nil
	}
	resource, err := c.resourceOf(key)
	if err != nil || resource.Resource == "" {
		return 0, false, err
	}
	var object *unstructured.Unstructured
	err = wrap("get "+key.String(), c.patience().do(ctx, bounded(func(ctx context.Context) error {
		var err error
		object, err = scoped(c.dynamic.Resource(resource), key.Namespace, false).Get(ctx, key.Name, metav1.GetOptions{})
		return err
	})))
	switch {
	case errors.Is(err, ErrNotFound):
		return 0, true, nil
	case errors.Is(err, ErrForbidden):
		return 0, false, nil
	case err != nil:
		return 0, false, err
	}
	if key.Group == batchv1.GroupName && key.Kind == "Job" {
		pods, known = jobPods(object)
		return pods, known, nil
	}
	replicas, found, err := unstructured.NestedInt64(object.Object, "spec", "replicas")
	return int(replicas), found && err == nil, nil
}

// resourceOf returns the resource of a controller's kind, an empty one where the cluster does not
// serve it. Only kinds that are not built in are looked up there.
func (c *Cluster) resourceOf(key snapshot.WorkloadKey) (schema.GroupVersionResource, error) {
	if kind, known := workload.Lookup("", key.Kind); known && kind.Resource().Group == key.Group {
		return kind.Resource(), nil
	}
	mapping, err := c.mapper.RESTMapping(schema.GroupKind{Group: key.Group, Kind: key.Kind})
	if meta.IsNoMatchError(err) {
		return schema.GroupVersionResource{}, nil
	}
	if err != nil {
		return schema.GroupVersionResource{}, wrap("find out about "+key.Kind, err)
	}
	return mapping.Resource, nil
}

// jobPods is how many pods a Job has yet to run at the same time (k8s.io/kubernetes v1.37.1
// pkg/controller/job/job_controller.go, manageJob).
func jobPods(object *unstructured.Unstructured) (int, bool) {
	var j batchv1.Job
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &j); err != nil {
		return 0, false
	}
	ended := slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed || c.Type == batchv1.JobSuspended)
	})
	if ended || j.DeletionTimestamp != nil {
		return 0, true
	}
	pods := 1
	if j.Spec.Parallelism != nil {
		pods = int(*j.Spec.Parallelism)
	}
	switch {
	case j.Spec.Completions != nil:
		pods = min(pods, int(*j.Spec.Completions-j.Status.Succeeded))
	case j.Status.Succeeded > 0:
		// A work queue: no pod is created once one has succeeded.
		return 0, true
	}
	return max(0, pods), true
}

// WhyNotReady returns what the API server shows of a pod that is not ready: the scheduler's
// message, or what its containers wait for. It is empty where nothing shows, or where the pod
// cannot be read.
func (c *Cluster) WhyNotReady(ctx context.Context, p *snapshot.Pod) string {
	var pods *corev1.PodList
	// The role lists pods, and does not get them.
	err := bounded(func(ctx context.Context) (err error) {
		pods, err = c.client.core.Pods(p.Namespace).List(ctx, metav1.ListOptions{FieldSelector: metav1.ObjectNameField + "=" + p.Name})
		return err
	})(ctx)
	if err != nil || len(pods.Items) == 0 {
		return ""
	}
	return printable.Line(whyNotReady(pods.Items[0]))
}

func whyNotReady(p corev1.Pod) string {
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(condition.Message, ".")
		}
	}
	for _, s := range slices.Concat(p.Status.InitContainerStatuses, p.Status.ContainerStatuses) {
		if s.State.Waiting != nil && s.State.Waiting.Reason != "" {
			return fmt.Sprintf("container %s: %s", s.Name, s.State.Waiting.Reason)
		}
	}
	for _, condition := range p.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(condition.Message, ".")
		}
	}
	return ""
}
