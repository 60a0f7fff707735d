// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// podPreferences are what a pod prefers nodes by, of the pods that run there.
type podPreferences struct {
	// spread are constraints of topology spread that keep it away from no node. Labelled is set where nodes without one of their
	// labels score lowest.
	spread   []softConstraint
	labelled bool
	// attractions are terms of pod affinity, its own ones and those of other pods that select it.
	attractions []attraction
}

// softConstraint counts the pods of a domain. On nodes is set for one whose domains are nodes.
type softConstraint struct {
	*softCounts

	skew    int32
	onNodes bool
}

// preferenceKey is what pods have in common that prefer the same.
type preferenceKey struct {
	rulesKey

	labels     uintptr
	scheduling *snapshot.Scheduling
	controller spreadKey
}

// prefers returns what a pod to place prefers. Next is set for one of a new template.
func (s *simulation) prefers(pod *snapshot.Pod, scheduling *snapshot.Scheduling, next bool) *podPreferences {
	key := preferenceKey{controller: s.defaultKeyOf(pod, next)}
	soft := pod.Rules.Prefers()
	if soft || s.rules.attractions.may(pod.Namespace) {
		key.rulesKey, key.labels = rulesKey{pod.Rules, pod.Namespace}, pointer(pod.Labels)
	}
	if soft && len(pod.Rules.SoftSpread) > 0 {
		key.scheduling = scheduling
	}
	if p, known := s.podPreferences[key]; known {
		return p
	}
	p := &podPreferences{spread: s.spreads.constraints(s, pod.Controller, key.controller)}
	s.podPreferences[key] = p
	if soft {
		s.spreadSoftly(p, pod, scheduling)
		s.follow(p, pod)
	}
	p.attractions = append(p.attractions, s.rules.attractions.to(s, pod)...)
	return p
}

// spreadSoftly adds the constraints of a pod with ScheduleAnyway. Where the domains are nodes, all of these count
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/podtopologyspread/scoring.go, PreScore and Score).
func (s *simulation) spreadSoftly(p *podPreferences, pod *snapshot.Pod, scheduling *snapshot.Scheduling) {
	for i := range pod.Rules.SoftSpread {
		constraint := &pod.Rules.SoftSpread[i]
		one := softConstraint{skew: constraint.MaxSkew, onNodes: constraint.OnNodes()}
		selector, values := narrowed(constraint, pod.Labels)
		key := counterKey{rules: pod.Rules, namespace: pod.Namespace, kind: bySpread, soft: true, index: i, scheduling: scheduling, values: values}
		eligible := func(at int) bool { return s.included(pod.Rules.SoftSpread, constraint, scheduling, s.places[at]) }
		if one.onNodes {
			eligible = nil
		}
		one.softCounts = s.rules.counter(s, key, constraint.TopologyKey, true, eligible, func(o occupant) bool {
			return o.pod.Namespace == pod.Namespace && !selector.Empty() && selector.Matches(o.pod.Labels)
		}).soft
		p.spread, p.labelled = append(p.spread, one), true
	}
}

// follow adds a pod's own preferred terms.
func (s *simulation) follow(p *podPreferences, pod *snapshot.Pod) {
	for i := range pod.Rules.Preferred {
		t := &pod.Rules.Preferred[i]
		key := counterKey{rules: pod.Rules, namespace: pod.Namespace, kind: byPodAffinity, soft: true, index: i}
		c := s.rules.counter(s, key, t.TopologyKey, t.OwnNamespace, nil, func(o occupant) bool {
			return t.Matches(pod.Namespace, o.pod.Namespace, o.pod.Labels, s.namespaceLabels(o.pod.Namespace))
		})
		p.attractions = append(p.attractions, attraction{c.soft, int64(t.Weight)})
	}
}
