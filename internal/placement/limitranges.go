// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// demandIn is what two pods have in common that every LimitRange and ResourceQuota counts in the same way.
type demandIn struct {
	namespace string
	demand    *snapshot.Demand
}

// admitted is what the LimitRanges of a namespace and the PriorityClasses make of new pods of a demand.
type admitted struct {
	demand *snapshot.Demand
	// refusal is why a LimitRange refuses them, or that their PriorityClass is gone, nil for neither.
	refusal *Refusal
	// doubtful is set where that is a matter of the template, which was not read: if it has no class, the pod was given the default one
	// of its time, and a new one is given that of today.
	doubtful bool
	// differing names LimitRanges whose defaults differ.
	differing []string
	// unknownClass is set where their PriorityClass was not read.
	unknownClass bool
}

// admitted returns what LimitRanges and PriorityClasses make of a new pod in the place of this one. Where they were not
// read, the new one has the resources and the priority of this one.
func (f *Finder) admitted(pod *snapshot.Pod) *admitted {
	key := demandIn{pod.Namespace, pod.Requests()}
	if one, known := f.admissions[key]; known {
		return one
	}
	one := &admitted{demand: key.demand}
	if f.snapshot.LimitRanges != nil {
		var refusal *snapshot.LimitRangeRefusal
		one.demand, refusal, one.differing = key.demand.Admit(f.snapshot.LimitRanges[pod.Namespace])
		if refusal != nil {
			one.refusal = &Refusal{LimitRange: refusal.Name, Resources: []string{refusal.Limit}}
		}
	}
	one.unknownClass = f.snapshot.PriorityClasses == nil && key.demand.NamesClass()
	f.prioritize(one)
	f.admissions[key] = one
	return one
}

// prioritize gives new pods the priority of their PriorityClass, or finds that it is gone.
func (f *Finder) prioritize(one *admitted) {
	classes, before := f.snapshot.PriorityClasses, one.demand
	var exists bool
	if one.demand, exists = before.Prioritize(classes); exists {
		return
	}
	if one.refusal == nil && classes.Default() != "" {
		one.doubtful = true
		byDefault := *before
		byDefault.PriorityClass = ""
		one.demand, _ = byDefault.Prioritize(classes)
	}
	one.refusal = cmp.Or(one.refusal, &Refusal{PriorityClass: before.PriorityClass})
}

// Asked reports whether it was asked what a new pod requests, which depends on LimitRanges.
func (f *Finder) Asked() bool { return len(f.admissions) > 0 }

// NewDemand returns what a new pod in the place of this one asks for, with what LimitRanges and PriorityClasses add.
func (f *Finder) NewDemand(pod *snapshot.Pod) *snapshot.Demand { return f.admitted(pod).demand }

// refusal returns why a replacement is not created, nil where nothing refuses it: also that of the pod
// before it, which its StatefulSet creates first.
func (r *replacement) refusal() *Refusal {
	if r.refused != nil || r.set == nil || r.created {
		return r.refused
	}
	for _, earlier := range r.set.pods {
		if earlier.ordinal < r.ordinal && earlier.refused != nil {
			return earlier.refused
		}
	}
	return nil
}

// refuse counts a replacement that is not created, since it is refused.
func (w *tally) refuse(r *replacement, refusal *Refusal) {
	w.notCreated++
	w.missing++
	w.refused++
	w.Refusal = cmp.Or(w.Refusal, refusal)
	if r.group != nil {
		r.group.Refusal = refusal
	}
}

// limited reports whether a LimitRange, a missing PriorityClass or a ResourceQuota may refuse a new pod in the place of this one.
func (s *simulation) limited(pod *snapshot.Pod) bool {
	return s.admitted(pod).refusal != nil || s.quotas.of(s, pod) != nil
}

// refuse returns what keeps a new pod in the place of this one from being created, nil for nothing.
// LimitRanges add their defaults and check first, then come PriorityClasses, and ResourceQuotas are last
// (k8s.io/kubernetes v1.37.2 pkg/kubeapiserver/options/plugins.go, AllOrderedPlugins).
func (s *simulation) refuse(pod *snapshot.Pod) *Refusal {
	one := s.admitted(pod)
	for _, name := range one.differing {
		s.unmodelledRanges[pod.Namespace+"/"+name] = true
	}
	if one.unknownClass {
		s.unknownClasses, s.unread[pod] = true, true
	}
	if one.refusal != nil && (!one.doubtful || s.unreplaced) {
		return one.refusal
	}
	return s.quotas.admit(s, pod)
}
