// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// jobFate is what becomes of a Job, or of the indexes of its evicted pods.
type jobFate struct {
	// fails is what fails, "" where the Job creates other pods. unknown is set where it is not known whether the Job or an
	// index fails; fails is set beside it where the Job creates no more pods in any case.
	fails   string
	unknown bool
	// whole is set beside unknown where it may be the Job that fails, and not an index alone.
	whole bool
	// limit is what they exceed, "" for a Job that has ended.
	limit string
}

const (
	jobFails   = "its Job fails"
	indexFails = "its index fails"
	jobEnded   = "its Job creates no more pods"
)

// fateOf returns what becomes of a Job of which so many pods are evicted, and maybe more
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/job_controller.go, syncJob).
func fateOf(j *snapshot.Job, disrupted bool, evicted, perhaps int) jobFate {
	if j.Ended {
		return jobFate{fails: jobEnded}
	}
	fate := fateByFailures(j, disrupted, evicted, perhaps)
	if fate.fails == "" && j.WorkQueue && j.Succeeded > 0 {
		// It waits for the pods that are left (manageJob).
		fate.fails = jobEnded
	}
	return fate
}

// fateByFailures returns what becomes of a Job as far as failed pods decide.
func fateByFailures(j *snapshot.Job, disrupted bool, evicted, perhaps int) jobFate {
	var all []jobFate
	for _, action := range j.Actions(disrupted) {
		for _, n := range []int{evicted, evicted + perhaps} {
			all = append(all, fateBy(j, action, n))
		}
	}
	if slices.ContainsFunc(all, func(one jobFate) bool { return one != all[0] }) {
		return jobFate{unknown: true, whole: slices.ContainsFunc(all, func(one jobFate) bool { return one.fails == jobFails })}
	}
	return all[0]
}

// String returns what fails, and the limit that it exceeds.
func (f jobFate) String() string {
	if f.limit == "" {
		return f.fails
	}
	return f.fails + ": " + f.limit
}

// fateBy returns what becomes of a Job of which so many pods fail, each with this action of its podFailurePolicy.
func fateBy(j *snapshot.Job, action batchv1.PodFailurePolicyAction, pods int) jobFate {
	switch {
	case pods == 0, action == batchv1.PodFailurePolicyActionIgnore:
		return jobFate{}
	case action == batchv1.PodFailurePolicyActionFailJob:
		return jobFate{fails: jobFails, limit: "podFailurePolicy"}
	case int(j.Failed)+pods > int(j.BackoffLimit):
		return jobFate{fails: jobFails, limit: fmt.Sprintf("backoffLimit %d", j.BackoffLimit)}
	case j.PerIndex == nil:
		return jobFate{}
	case action == batchv1.PodFailurePolicyActionCount && *j.PerIndex > 0:
		// How many pods of an index have failed is not read.
		return jobFate{unknown: true, whole: j.MaxFailedIndexes != nil && j.FailedIndexes+pods > int(*j.MaxFailedIndexes)}
	case j.MaxFailedIndexes != nil && j.FailedIndexes+pods > int(*j.MaxFailedIndexes):
		return jobFate{fails: jobFails, limit: fmt.Sprintf("maxFailedIndexes %d", *j.MaxFailedIndexes)}
	case action == batchv1.PodFailurePolicyActionFailIndex:
		return jobFate{fails: indexFails, limit: "podFailurePolicy"}
	default:
		return jobFate{fails: indexFails, limit: "backoffLimitPerIndex 0"}
	}
}

// jobPods are the verdicts on the pods of a Job: those that are evicted, and those that may be.
type jobPods struct {
	evicted, perhaps []*PodVerdict
	// disrupted is set unless all of them are deleted without an eviction.
	disrupted bool
}

// podsOfJobs returns the pods of Jobs that are evicted, or may be.
func (e *evaluation) podsOfJobs(r *Report) map[types.UID]*jobPods {
	jobs := map[types.UID]*jobPods{}
	for i := range r.Pods {
		v := &r.Pods[i]
		if v.Pod.Completed || v.Pod.Controller == nil || !v.Pod.Controller.Job() || !v.Leaves() && v.Verdict != Unknown {
			continue
		}
		of := jobs[v.Pod.Controller.UID]
		if of == nil {
			of = &jobPods{}
			jobs[v.Pod.Controller.UID] = of
		}
		of.disrupted = of.disrupted || v.Verdict != Drained || !e.change.Deletes
		if v.Leaves() {
			of.evicted = append(of.evicted, v)
		} else {
			of.perhaps = append(of.perhaps, v)
		}
	}
	return jobs
}

// failJobs notes the evicted pods whose Jobs create no others because too many of their pods fail.
func (e *evaluation) failJobs(r *Report) {
	endings := map[types.UID]*jobEnding{}
	e.jobs = e.podsOfJobs(r)
	for uid, of := range e.jobs {
		fate, job := jobFate{unknown: true}, e.snapshot.Jobs[uid]
		if job != nil {
			fate = fateOf(job, of.disrupted, len(of.evicted), len(of.perhaps))
		}
		r.UnknownJobs = r.UnknownJobs || job == nil
		if ends := ending(job, fate, of); ends != nil {
			endings[uid] = ends
		}
		if job != nil {
			of.fail(fate)
		}
	}
	e.endOthers(r, endings)
}

// fail notes which pods of a Job are lost, or may be. Those that may be evicted count by that, unless the Job is sure to
// fail: it deletes them then.
func (of *jobPods) fail(fate jobFate) {
	may := slices.Clone(of.perhaps)
	switch {
	case fate.fails != "":
		for _, v := range of.evicted {
			v.Lost, v.NoPlace, v.Fails = true, false, fate.fails
			v.Reason += "; " + fate.String()
		}
		if fate.fails == jobFails && !fate.unknown {
			return
		}
	case fate.unknown:
		may = append(may, of.evicted...)
	default:
		return
	}
	why := "its Job may fail"
	if fate.fails != jobFails {
		why = cmp.Or(fate.fails, why)
	}
	for _, v := range may {
		v.MayBeLost, v.Perhaps = true, why
		v.Reason += "; " + why
	}
}

// ending is what becomes of a pod's Job when preemption evicts so many of its pods beside those that the change evicts.
func (e *evaluation) ending(pod *snapshot.Pod, preempted int) placement.Ending {
	evicted, perhaps := preempted, 0
	if of := e.jobs[pod.Controller.UID]; of != nil {
		evicted, perhaps = evicted+len(of.evicted), len(of.perhaps)
	}
	return e.endingBy(pod, evicted, perhaps)
}

// endingWithout is the same without the pods that the change evicts.
func (e *evaluation) endingWithout(pod *snapshot.Pod, preempted int) placement.Ending {
	return e.endingBy(pod, preempted, 0)
}

func (e *evaluation) endingBy(pod *snapshot.Pod, evicted, perhaps int) placement.Ending {
	job := e.snapshot.Jobs[pod.Controller.UID]
	if job == nil {
		return placement.Ending{Unknown: true}
	}
	fate := fateOf(job, true, evicted, perhaps)
	if fate.unknown {
		return placement.Ending{Fails: fate.whole, Lost: true, Unsure: true}
	}
	return placement.Ending{Fails: fate.fails == jobFails, Lost: fate.fails != ""}
}
