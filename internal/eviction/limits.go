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
	ProtectedNamespaces Limit = "protected_namespaces"
	ProtectedSelector   Limit = "protected_selector"
)

// Limits are how many and which pods a change may evict.
type Limits struct {
	// MaxPods is nil for no limit.
	MaxPods    *int64
	Namespaces []string
	// Selector is nil where no pods are protected by label.
	Selector labels.Selector
	// EvictStranded allows a change that strands pods.
	EvictStranded bool
}

// Excess is a limit that a change exceeds.
type Excess struct {
	Limit Limit
	// Pods are the pods that count, Certain is set where one of them is sure to be evicted.
	Pods    []string
	Certain bool
}

// LimitsError is the error of a change that strands pods or exceeds its limits.
type LimitsError struct {
	Limits   Limits
	Report   *Report
	Stranded []PodVerdict
	Exceeded []Excess
}

// Error names the first reason.
func (e *LimitsError) Error() string {
	if len(e.Stranded) > 0 {
		return fmt.Sprintf("%d pods would be stranded", len(e.Stranded))
	}
	return fmt.Sprintf("%s does not allow %d evictions", e.Exceeded[0].Limit, len(e.Exceeded[0].Pods))
}

// Set reports whether any limit is set.
func (l Limits) Set() bool {
	return l.MaxPods != nil || len(l.Namespaces) > 0 || l.Selector != nil
}

// Allow checks a change right before it is made. Errors: *LimitsError.
func (l Limits) Allow(report *Report) error {
	if pods := report.Stranded(); len(pods) > 0 && !l.EvictStranded {
		return &LimitsError{Limits: l, Report: report, Stranded: pods}
	}
	return l.Check(report)
}

// Check compares a report with the limits. Every verdict but stays counts, and so do pods
// whose outcome is unknown. Errors: *LimitsError.
func (l Limits) Check(report *Report) error {
	var out []Excess
	note := func(limit Limit, match func(*snapshot.Pod) bool, allowed int64) {
		if found := report.evicts(match); int64(len(found.Pods)) > allowed {
			found.Limit = limit
			out = append(out, found)
		}
	}
	if l.MaxPods != nil {
		note(MaxPods, func(*snapshot.Pod) bool { return true }, *l.MaxPods)
	}
	note(ProtectedNamespaces, func(p *snapshot.Pod) bool { return slices.Contains(l.Namespaces, p.Namespace) }, 0)
	if l.Selector != nil {
		note(ProtectedSelector, func(p *snapshot.Pod) bool { return l.Selector.Matches(p.Labels) }, 0)
	}
	if len(out) == 0 {
		return nil
	}
	return &LimitsError{Limits: l, Report: report, Exceeded: out}
}

// evicts names the pods that do not stay.
func (r *Report) evicts(match func(*snapshot.Pod) bool) (out Excess) {
	for _, v := range r.Pods {
		if v.Verdict != Stays && match(v.Pod) {
			out.Pods, out.Certain = append(out.Pods, v.Pod.Key()), out.Certain || v.Leaves()
		}
	}
	return out
}

// On is the part of the report that is about the pods of these nodes.
func (r *Report) On(nodes []string) *Report {
	out, on := *r, map[string]bool{}
	for _, name := range nodes {
		on[name] = true
	}
	out.Pods = slices.DeleteFunc(slices.Clone(r.Pods), func(v PodVerdict) bool { return !on[v.Pod.Node] })
	return &out
}
