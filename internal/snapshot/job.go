// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package snapshot

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
)

// Job is what of a Job decides whether it goes on when its pods fail.
type Job struct {
	// Ended is set for a Job that has finished, is suspended or is being deleted.
	Ended bool
	// BackoffLimit is how many pods may fail, and Failed how many have.
	BackoffLimit, Failed int32
	// WorkQueue is set for a Job without spec.completions, and Succeeded is how many pods have ended well: one is enough
	// for such a Job to create no more.
	WorkQueue bool
	Succeeded int32
	// PerIndex is how many pods of one index may fail, and MaxFailedIndexes how many indexes; nil for no such limit.
	PerIndex, MaxFailedIndexes *int32
	// FailedIndexes is how many indexes have failed.
	FailedIndexes int
	// Rules are those of its podFailurePolicy.
	Rules []FailureRule
	// OnlyFailed is set for the podReplacementPolicy Failed, the only one beside a podFailurePolicy: a pod that is deleted
	// counts by how it ends.
	OnlyFailed bool
}

// FailureRule is a rule of a podFailurePolicy.
type FailureRule struct {
	Action batchv1.PodFailurePolicyAction
	// ExitCodes is set for a rule on exit codes: on these, or with NotIn on all but these.
	ExitCodes []int32
	NotIn     bool
	// Disruption is set for a rule on the condition DisruptionTarget.
	Disruption bool
}

// stopped are the exit codes of a container that is stopped: 0, or no code, for one that catches SIGTERM and ends well,
// 143 for one that does not catch it, 137 for one that is killed. Others are the program's own, and not known.
var stopped = []int32{0, 137, 143}

// Actions returns what the podFailurePolicy may do with a pod that is evicted, or deleted without the condition
// DisruptionTarget. Conditions of other types count as absent. One that ends well counts as no failure under the
// podReplacementPolicy Failed, as if it were ignored
// (k8s.io/kubernetes v1.37.2 pkg/controller/job/pod_failure_policy.go, matchPodFailurePolicy, and job_controller.go,
// isPodFailed).
func (j *Job) Actions(disrupted bool) []batchv1.PodFailurePolicyAction {
	var out []batchv1.PodFailurePolicyAction
	if j.OnlyFailed {
		out = append(out, batchv1.PodFailurePolicyActionIgnore)
	}
	for _, code := range stopped {
		action := batchv1.PodFailurePolicyActionCount
		if at := slices.IndexFunc(j.Rules, func(r FailureRule) bool { return r.matches(code, disrupted) }); at >= 0 {
			action = j.Rules[at].Action
		}
		if !slices.Contains(out, action) {
			out = append(out, action)
		}
	}
	return out
}

func (r FailureRule) matches(code int32, disrupted bool) bool {
	if r.ExitCodes == nil {
		return r.Disruption && disrupted
	}
	return code != 0 && slices.Contains(r.ExitCodes, code) != r.NotIn
}
