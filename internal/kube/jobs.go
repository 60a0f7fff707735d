// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// evictedJobs are the Jobs of evicted pods, as they were when they were read.
type evictedJobs = onDemand[types.UID, *snapshot.Job]

// learnJobs reads the Jobs of evicted pods: by name where they are few, else with one list. It reports whether snapshots
// have more from now on. Jobs that there is no right to read stay unknown.
func (c *Cluster) learnJobs(ctx context.Context, s *snapshot.Snapshot, evicted []*snapshot.Pod) (learned bool, err error) {
	needed := unread{}
	for _, pod := range evicted {
		if !pod.Completed && pod.Controller != nil && pod.Controller.Job() {
			needed[pod.Controller.UID] = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Controller.Name}
		}
	}
	err = c.jobs.learn(needed, func(some unread) (map[types.UID]*snapshot.Job, error) { return c.jobsOf(ctx, some) })
	known := c.jobs.all()
	for uid := range needed {
		learned = learned || known[uid] != nil && s.Jobs[uid] == nil
	}
	return learned, err
}

// jobsOf reads Jobs. There are none without the right to.
func (c *Cluster) jobsOf(ctx context.Context, some unread) (map[types.UID]*snapshot.Job, error) {
	found := map[types.UID]*snapshot.Job{}
	note := func(object *batchv1.Job) {
		if _, wanted := some[object.UID]; wanted {
			if job, known := jobOf(object); known {
				found[object.UID] = job
			}
		}
	}
	known, _ := workload.Lookup("", "Job")
	if some.byName(len(c.controllers.of(known).known().listed)) {
		err := getEach(ctx, c, "Job", some, func(ctx context.Context, name types.NamespacedName) (*batchv1.Job, error) {
			return c.client.batch.Jobs(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
		}, note)
		if !errors.Is(err, ErrForbidden) {
			return found, err
		}
	}
	err := c.each(ctx, "jobs", func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
		return c.client.batch.Jobs(some.namespace()).List(ctx, o)
	}, func() {}, func(o runtime.Object) error {
		note(o.(*batchv1.Job)) //nolint:forcetypeassert // The list holds nothing else.
		return nil
	})
	if errors.Is(err, ErrForbidden) {
		err = nil
	}
	return found, err
}

// jobOf returns what decides whether a Job goes on, and false where another controller decides, or where the limit is not
// known, as in recordings of before it was recorded.
func jobOf(o *batchv1.Job) (*snapshot.Job, bool) {
	if o.Spec.BackoffLimit == nil || o.Spec.ManagedBy != nil && *o.Spec.ManagedBy != batchv1.JobControllerName {
		return nil, false
	}
	job := &snapshot.Job{
		BackoffLimit: *o.Spec.BackoffLimit, Failed: o.Status.Failed, PerIndex: o.Spec.BackoffLimitPerIndex, MaxFailedIndexes: o.Spec.MaxFailedIndexes,
		WorkQueue: o.Spec.Completions == nil, Succeeded: o.Status.Succeeded,
		OnlyFailed: o.Spec.PodReplacementPolicy != nil && *o.Spec.PodReplacementPolicy == batchv1.Failed,
		Ended:      o.DeletionTimestamp != nil || o.Spec.Suspend != nil && *o.Spec.Suspend || slices.ContainsFunc(o.Status.Conditions, ends),
	}
	if uncounted := o.Status.UncountedTerminatedPods; uncounted != nil {
		job.Failed += int32(len(uncounted.Failed))       //nolint:gosec // An object in etcd has room for fewer.
		job.Succeeded += int32(len(uncounted.Succeeded)) //nolint:gosec // An object in etcd has room for fewer.
	}
	if o.Status.FailedIndexes != nil {
		job.FailedIndexes = indexes(*o.Status.FailedIndexes)
	}
	if o.Spec.PodFailurePolicy != nil {
		for _, rule := range o.Spec.PodFailurePolicy.Rules {
			job.Rules = append(job.Rules, ruleOf(rule))
		}
	}
	return job, true
}

// ends reports whether a Job with a condition creates no more pods
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, syncJob).
func ends(c batchv1.JobCondition) bool {
	return c.Status == corev1.ConditionTrue && c.Type != batchv1.JobSuspended
}

func ruleOf(r batchv1.PodFailurePolicyRule) snapshot.FailureRule {
	out := snapshot.FailureRule{Action: r.Action}
	if codes := r.OnExitCodes; codes != nil {
		out.ExitCodes, out.NotIn = codes.Values, codes.Operator == batchv1.PodFailurePolicyOnExitCodesOpNotIn
		return out
	}
	out.Disruption = slices.ContainsFunc(r.OnPodConditions, func(p batchv1.PodFailurePolicyOnPodConditionsPattern) bool {
		return p.Type == corev1.DisruptionTarget && p.Status == corev1.ConditionTrue
	})
	return out
}

// indexes counts the indexes of a status, such as "1,3-5"
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/indexed_job_utils.go, parseIndexesFromString).
func indexes(list string) int {
	count := 0
	for part := range strings.SplitSeq(list, ",") {
		from, to, several := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			continue
		}
		last := first
		if several {
			if last, err = strconv.Atoi(to); err != nil {
				continue
			}
		}
		count += max(0, last-first+1)
	}
	return count
}
