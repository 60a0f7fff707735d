// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Limit names one of the limits on evictions, as the attribute of the evictions block.
type Limit string

// The limits on evictions.
const (
	MaxPods             Limit = "max_pods"
	MaxPending          Limit = "max_pending"
	MaxLost             Limit = "max_lost"
	ProtectedNamespaces Limit = "protected_namespaces"
	ProtectedSelector   Limit = "protected_selector"
	Only                Limit = "only"
)

// Limits are how many and which pods a change may evict.
type Limits struct {
	// MaxPods, MaxPending and MaxLost are nil for no limit.
	MaxPods, MaxPending, MaxLost *int64
	Namespaces                   []string
	// Selector is nil where no pods are protected by label.
	Selector labels.Selector
	// Only are the workloads whose pods may be evicted: nil for all, and empty for none.
	Only []Approval
	// EvictStranded allows a change that strands pods.
	EvictStranded bool
}

// Excess is a limit that a change exceeds.
type Excess struct {
	Limit Limit
	// Count is how many pods count, the upper end where that depends on the order, and Allowed how many
	// may. Preempted are those of them that go elsewhere by preemption, Ended those that failed Jobs delete, and Others
	// those that are missing of what other changes of the run evict, since this change takes the room.
	Count, Allowed, Preempted, Ended, Others int
	// Of is the id of the resource whose limit it is, "" for the resource that is planned.
	Of string
	// Pods are their names, those of max_pending apart: replacements have none yet.
	Pods []string
	// Workloads are those of the pods, for only: each is what to add to it, in the order of the pods.
	Workloads []Approval
	// Refused counts those that are not created at all, since admission refuses them.
	Refused int
	// Certain is set where one of them is sure to be evicted or, for max_pending, to be exceeded.
	Certain bool
}

// LimitsError is the error of a change that strands pods or exceeds its limits.
type LimitsError struct {
	Limits   Limits
	Report   *Report
	Stranded []PodVerdict
	Exceeded []Excess
	// Unmodelled is what messages name, where it has been read.
	Unmodelled snapshot.Unmodelled
}

// Error names the first reason.
func (e *LimitsError) Error() string {
	if len(e.Stranded) > 0 {
		return fmt.Sprintf("%d pods would be stranded", len(e.Stranded))
	}
	return fmt.Sprintf("%s does not allow %d evictions", e.Exceeded[0].Limit, e.Exceeded[0].Count)
}

// Set reports whether any limit is set.
func (l Limits) Set() bool {
	return l.MaxPods != nil || l.MaxPending != nil || l.MaxLost != nil || len(l.Namespaces) > 0 || l.Selector != nil || l.Only != nil
}

// Allow checks a change right before it is made. Errors: *LimitsError.
func (l Limits) Allow(report *Report) error {
	if pods := report.Stranded(); len(pods) > 0 && !l.EvictStranded {
		return &LimitsError{Limits: l, Report: report, Stranded: pods}
	}
	return l.Check(report)
}

// Check compares a report with the limits. Every verdict but stays counts, and so do pods whose outcome
// is unknown, those that preemption evicts elsewhere and those that failed Jobs delete, a range with its upper end.
// Completed pods do not. Errors: *LimitsError.
func (l Limits) Check(report *Report) error {
	if !l.Set() {
		return nil
	}
	var out []Excess
	note := func(limit Limit, allowed int64, found Excess) {
		if found.Limit, found.Allowed = limit, int(allowed); int64(found.Count) > allowed {
			out = append(out, found)
		}
	}
	if l.MaxPods != nil {
		found := report.evicts(func(*snapshot.Pod, snapshot.Owner) bool { return true })
		// Not all of the victims are evicted in one order.
		most := min(found.Preempted, report.Outcome().Preempted.Max+report.Outcome().Deleted.Max)
		found.Count -= found.Preempted - most
		found.Preempted = most
		note(MaxPods, *l.MaxPods, found)
	}
	if l.MaxPending != nil {
		missing, others := report.Outcome().Staying, report.Outcome().Others.Caused()
		note(MaxPending, *l.MaxPending, Excess{Count: missing.Max + others.Max, Others: others.Max, Refused: report.Outcome().Refused.Max, Certain: int64(missing.Min+others.Min) > *l.MaxPending})
	}
	if l.MaxLost != nil {
		note(MaxLost, *l.MaxLost, report.loses())
	}
	note(ProtectedNamespaces, 0, report.evicts(func(p *snapshot.Pod, _ snapshot.Owner) bool { return slices.Contains(l.Namespaces, p.Namespace) }))
	if l.Selector != nil {
		note(ProtectedSelector, 0, report.evicts(func(p *snapshot.Pod, _ snapshot.Owner) bool { return l.Selector.Matches(p.Labels) }))
	}
	if l.Only != nil {
		note(Only, 0, l.unapproved(report))
	}
	if len(out) == 0 {
		return nil
	}
	return &LimitsError{Limits: l, Report: report, Exceeded: out}
}

// loses names the pods that are evicted for good, or may be: bare ones, and those of what fails without them. Pods of
// controllers of which nothing is known are left out: most of these are operators, which do recreate them.
func (r *Report) loses() Excess {
	lost, counted := r.losses(), r.Summary().LostPods()
	out := r.evicts(func(p *snapshot.Pod, _ snapshot.Owner) bool { return lost[p] })
	most := counted.Max
	for i := range r.Pods {
		if v := &r.Pods[i]; v.PerhapsLost() && !lost[v.Pod] {
			most--
		}
	}
	// Not all of them are lost in one order.
	if over := out.Count - most; over > 0 {
		out.Count, out.Preempted = most, out.Preempted-min(over, out.Preempted)
	}
	out.Certain = counted.Min > 0
	return out
}

// losses are the pods that are lost in any order.
func (r *Report) losses() map[*snapshot.Pod]bool {
	out := map[*snapshot.Pod]bool{}
	for pod := range r.Outcome().Gone {
		out[pod] = true
	}
	for i := range r.Pods {
		if v := &r.Pods[i]; v.Leaves() && v.Lost || v.MayFail() || v.PerhapsLost() && (isBare(v.Pod) || breaks(v.Pod)) {
			out[v.Pod] = true
		}
	}
	for _, p := range r.endedOthers() {
		out[p.Pod] = true
	}
	for _, v := range r.Outcome().Victims {
		if breaks(v.Pod) {
			out[v.Pod] = true
		}
	}
	return out
}

// unapproved names the pods that may be evicted in any order and that no entry of only covers.
func (l Limits) unapproved(report *Report) Excess {
	var workloads []Approval
	approved := map[Approval]bool{}
	out := report.evicts(func(p *snapshot.Pod, owner snapshot.Owner) bool {
		of := ApprovalFor(p, owner)
		if _, known := approved[of]; !known {
			approved[of] = slices.ContainsFunc(l.Only, func(a Approval) bool { return a.Covers(of) })
			if !approved[of] {
				workloads = append(workloads, of)
			}
		}
		return !approved[of]
	})
	out.Workloads = workloads
	return out
}

// evicts names the pods that do not stay, those that failed Jobs delete, and those that preemption evicts elsewhere in
// any order.
func (r *Report) evicts(match func(*snapshot.Pod, snapshot.Owner) bool) (out Excess) {
	for _, v := range r.Pods {
		if v.Verdict != Stays && !v.Pod.Completed && match(v.Pod, v.Owner) {
			out.Pods, out.Certain = append(out.Pods, v.Pod.Key()), out.Certain || v.Leaves()
		}
	}
	for _, p := range r.endedBeside() {
		if match(p.Pod, p.Owner) {
			out.Pods, out.Certain = append(out.Pods, p.Pod.Key()), out.Certain || !p.Unsure
			out.Ended++
		}
	}
	outcome := r.Outcome()
	for _, victim := range outcome.Victims {
		if match(victim.Pod, victim.Owner) && !slices.Contains(out.Pods, victim.Pod.Key()) {
			out.Pods, out.Certain = append(out.Pods, victim.Pod.Key()), out.Certain || victim.Orders == victim.Of
			out.Preempted++
		}
	}
	out.Count = len(out.Pods)
	return out
}

// On is the part of the report that is about the pods of these nodes. What becomes of replacements is
// that of all nodes: they compete.
func (r *Report) On(nodes []string) *Report {
	out, on := *r, map[string]bool{}
	for _, name := range nodes {
		on[name] = true
	}
	out.Pods = slices.DeleteFunc(slices.Clone(r.Pods), func(v PodVerdict) bool { return !on[v.Pod.Node] })
	out.Ended = out.endedOn()
	return &out
}
