// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Judged returns the pods about which more of the cluster decides: those that are evicted, or may be, and those elsewhere
// that are replaced while the change is made and whose Jobs or PriorityClasses were not read.
func (r *Report) Judged() []*snapshot.Pod {
	out := r.Evicted()
	if r == nil || !r.unreadElsewhere {
		return out
	}
	return append(out, r.Outcome().Unread...)
}

// unreadElsewhere reports whether pods that the change does not evict may be replaced whose Jobs or PriorityClasses were
// not read: they are being deleted, or one that is to be placed has a higher priority. The classes are read where an
// evicted pod names one.
func (e *evaluation) unreadElsewhere(r *Report) bool {
	highest, unreadClasses := int32(math.MinInt32), e.snapshot.PriorityClasses == nil
	note := func(d *snapshot.Demand) {
		if !d.Patient {
			highest = max(highest, d.Priority)
		}
	}
	replaced := false
	for i := range r.Pods {
		if v := &r.Pods[i]; (v.Leaves() || v.Verdict == Unknown) && v.Pod.Controller != nil {
			note(e.nodes().NewDemand(v.Pod))
			replaced, unreadClasses = true, unreadClasses && !v.Pod.Requests().NamesClass()
		}
	}
	if !replaced {
		return false
	}
	for _, pod := range e.snapshot.Waiting {
		note(pod.Requests())
	}
	for _, pods := range e.snapshot.Pods {
		if slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
			return (p.Terminating || p.Requests().Priority < highest) && e.unread(p, unreadClasses)
		}) {
			return true
		}
	}
	return false
}

// unread reports whether the Job of a running pod was not read, or its PriorityClass.
func (e *evaluation) unread(p *snapshot.Pod, unreadClasses bool) bool {
	return p.Controller != nil && !p.Completed && (p.Controller.Job() && e.snapshot.Jobs[p.Controller.UID] == nil || unreadClasses && p.Requests().NamesClass())
}
