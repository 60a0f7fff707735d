// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Judged returns the pods about which more of the cluster decides: those that are evicted, or may be, and those elsewhere
// that are replaced while the change is made and whose Jobs, PriorityClasses or volumes were not read.
func (r *Report) Judged() []*snapshot.Pod {
	out := r.Evicted()
	if r == nil || !r.unreadElsewhere {
		return out
	}
	outcome := r.Outcome()
	for i := range outcome.Victims {
		if pod := outcome.Victims[i].Pod; hasVolumes(pod) {
			out = append(out, pod)
		}
	}
	return append(out, outcome.Unread...)
}

// Recreates reports whether controllers may create pods in the place of evicted ones, those of others of the run and of preemption
// included: ResourceQuotas and LimitRanges decide about these.
func (r *Report) Recreates() bool {
	return r != nil && (r.elsewhere || r.crowding || slices.ContainsFunc(r.Evicted(), func(p *snapshot.Pod) bool { return p.Controller != nil }))
}

// Places reports whether the verdicts depend on what new pods request, also in the place of pods that stay: LimitRanges
// decide about that.
func (r *Report) Places() bool { return r != nil && r.places }

// unreadElsewhere reports whether pods that the change does not evict may be replaced whose Jobs, PriorityClasses or volumes were
// not read: they are being deleted, or one that is to be placed has a higher priority. The classes are read where an
// evicted pod names one.
func (e *evaluation) unreadElsewhere(r *Report) bool {
	highest, unreadClasses, placed := e.toPlace(r)
	if !placed {
		return false
	}
	for _, pods := range e.snapshot.Pods {
		if slices.ContainsFunc(pods, func(p *snapshot.Pod) bool {
			preempted := p.Requests().Priority < highest
			return (p.Terminating || preempted) && e.unread(p, unreadClasses) || preempted && e.unreadVolumes(p)
		}) {
			return true
		}
	}
	return false
}

// toPlace returns the highest priority of a pod to place that may preempt others, whether PriorityClasses were not read because no
// evicted pod names one, and whether there is a pod to place at all.
func (e *evaluation) toPlace(r *Report) (highest int32, unreadClasses, placed bool) {
	highest, unreadClasses = math.MinInt32, e.snapshot.PriorityClasses == nil
	note := func(d *snapshot.Demand) {
		if !d.Patient {
			highest = max(highest, d.Priority)
		}
	}
	placed = r.crowding
	for i := range r.Pods {
		if v := &r.Pods[i]; (v.Leaves() || v.Verdict == Unknown) && v.Pod.Controller != nil {
			note(e.nodes().NewDemand(v.Pod))
			placed, unreadClasses = true, unreadClasses && !v.Pod.Requests().NamesClass()
		}
	}
	for _, pod := range e.snapshot.Waiting {
		note(pod.Requests())
	}
	return highest, unreadClasses, placed
}

// unreadVolumes reports whether a pod that may be preempted has volumes about which nothing was read: a replacement of its
// own finds no node that takes them, or not where its own one was.
func (e *evaluation) unreadVolumes(p *snapshot.Pod) bool {
	return p.Controller != nil && !p.Completed && (len(p.Claims) > 0 && e.snapshot.Attachments == nil || p.Ephemeral && e.snapshot.Storage == nil)
}

// unread reports whether the Job of a running pod was not read, or its PriorityClass.
func (e *evaluation) unread(p *snapshot.Pod, unreadClasses bool) bool {
	return p.Controller != nil && !p.Completed && (p.Controller.Job() && e.snapshot.Jobs[p.Controller.UID] == nil || unreadClasses && p.Requests().NamesClass())
}
