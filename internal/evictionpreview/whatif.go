// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// whatIf is an imagined change and what it would do.
type whatIf struct {
	target planner.Target
	// fleet is set in place of a target.
	fleet  *fleet
	taints []corev1.Taint
	absent []taint.ID
	// added are tolerations that workloads would have by then; strangers are the
	// ones among these workloads that no pod belongs to.
	added     map[snapshot.WorkloadKey]eviction.Planned
	strangers []string
	// matched counts the nodes, or MachineSets, that are meant, whether they change or not.
	matched int
	report  *eviction.Report
}

// evaluate imagines the change on a snapshot.
func (w whatIf) evaluate(s *snapshot.Snapshot, comparison eviction.Comparison) whatIf {
	nodes := s.SortedNodes()
	for _, n := range nodes {
		if w.target.Matches(n) {
			w.matched++
		}
	}
	change := planner.WhatIf(nodes, w.target, w.taints, w.absent)
	change.Tolerations = w.added
	w.report = eviction.Evaluate(s, change, comparison)
	return w.strange(s)
}

// inGroups gives the workloads of unknown kinds the API group of the pods' owners with their
// kind and name.
func (w whatIf) inGroups(s *snapshot.Snapshot) whatIf {
	added := maps.Clone(w.added)
	note := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			key := snapshot.WorkloadKey{Namespace: p.Namespace, Owner: s.Owner(p)}
			named := key
			named.Group = ""
			if planned, is := w.added[named]; is && key != named {
				delete(added, named)
				added[key] = planned
			}
		}
	}
	if len(added) > 0 {
		for _, pods := range s.Pods {
			note(pods)
		}
		note(s.Waiting)
	}
	w.added = added
	return w
}

// strange notes the workloads that no pod belongs to.
func (w whatIf) strange(s *snapshot.Snapshot) whatIf {
	for key := range w.added {
		if len(s.WorkloadPods(key)) == 0 && !workload.OfComponent(key) {
			w.strangers = append(w.strangers, key.Kind+" "+key.Namespace+"/"+key.Name)
		}
	}
	slices.Sort(w.strangers)
	return w
}

// subject words the change.
func (w whatIf) subject() fw.Subject {
	s := fw.Subject{Verb: "Applying", Taints: w.taints, Preposition: "to"}
	removed := make([]corev1.Taint, len(w.absent))
	for i, id := range w.absent {
		removed[i] = corev1.Taint{Key: id.Key, Effect: id.Effect}
	}
	switch {
	case len(w.taints) == 0:
		s.Verb, s.Taints, s.Preposition = "Removing", removed, "from"
	case len(removed) > 0:
		s.Verb = "Removing " + taint.FormatAll(removed) + " and applying"
	}
	s.Where = fmt.Sprintf("node %q", w.target.Name)
	switch {
	case w.fleet != nil:
		s.Where = w.fleet.where()
	case w.target.Selector != nil:
		s.Where = fmt.Sprintf("%s matching %q", fw.Count(w.matched, "node"), w.target.Selector)
	}
	return s
}
