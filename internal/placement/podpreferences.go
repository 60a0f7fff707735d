// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// podPreferences are what a pod prefers nodes by, of the pods that run there.
type podPreferences struct {
	// spread are constraints of topology spread that keep it away from no node. Labelled is set where nodes without one of their
	// labels score lowest.
	spread   []softConstraint
	labelled bool
	// byDefault is set where the constraints are the default ones.
	byDefault *defaultSpread
	// attractions are terms of pod affinity, its own ones and those of other pods that select it.
	attractions []attraction
}

// softConstraint counts the pods of a domain. On nodes is set for one whose domains are nodes.
type softConstraint struct {
	*counts

	skew    int32
	onNodes bool
}

// attraction counts pods that attract another one to their domains. The weight is negative where they keep it away.
type attraction struct {
	*counts

	weight int64
}

// requiredWeight is what a required term of a pod weighs for others that it selects
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/apis/config/v1/defaults.go, HardPodAffinityWeight).
const requiredWeight = 1

// rulesKey is what pods have in common whose terms select the same pods.
type rulesKey struct {
	rules     *snapshot.PodRules
	namespace string
}

// attractingTerm is a term of the pods of a namespace. They are counted once a pod is placed that it selects.
type attractingTerm struct {
	rulesKey

	term    *snapshot.PodTerm
	weight  int64
	counted *counts
}

// attract notes the terms by which a pod attracts others.
func (r *rules) attract(pod *snapshot.Pod) {
	if pod.Rules == nil || len(pod.Rules.Affinity)+len(pod.Rules.Preferred) == 0 {
		return
	}
	key := rulesKey{pod.Rules, pod.Namespace}
	if r.attracting[key] != nil {
		return
	}
	for i := range pod.Rules.Affinity {
		r.attracting[key] = append(r.attracting[key], &attractingTerm{rulesKey: key, term: &pod.Rules.Affinity[i], weight: requiredWeight})
	}
	for i := range pod.Rules.Preferred {
		t := &pod.Rules.Preferred[i]
		r.attracting[key] = append(r.attracting[key], &attractingTerm{rulesKey: key, term: &t.PodTerm, weight: int64(t.Weight)})
	}
}

// count adds pods of a node.
func (t *attractingTerm) count(i, n int32) {
	if t.counted != nil {
		t.counted.add(i, n)
	}
}

func (t *attractingTerm) reset() {
	if t.counted != nil {
		t.counted.reset()
	}
}

// counts returns how many pods with the term are where.
func (t *attractingTerm) counts(s *simulation) *counts {
	if t.counted != nil {
		return t.counted
	}
	t.counted = new(newCounts(s.rules.topology(s, t.term.TopologyKey)))
	has := func(pod *snapshot.Pod) bool { return pod.Rules == t.rules && pod.Namespace == t.namespace }
	s.rules.index(s)
	for _, l := range s.rules.pods[t.namespace] {
		if has(l.pod) {
			t.count(l.node, 1)
		}
	}
	if s.running {
		t.reset()
		s.eachChanged(func(i int32, o occupant, n int32) {
			if has(o.pod) {
				t.count(i, n)
			}
		})
	}
	return t.counted
}

// preferenceKey is what pods have in common that prefer the same.
type preferenceKey struct {
	rulesKey

	labels     uintptr
	scheduling *snapshot.Scheduling
	controller spreadKey
}

// prefers returns what a pod to place prefers.
func (s *simulation) prefers(pod *snapshot.Pod, scheduling *snapshot.Scheduling) *podPreferences {
	var key preferenceKey
	if spreads(pod.Controller) {
		key.controller = spreadKeyOf(pod)
	}
	if pod.Rules != nil || len(s.rules.attracting) > 0 {
		key.rulesKey, key.labels, key.scheduling = rulesKey{pod.Rules, pod.Namespace}, pointer(pod.Labels), scheduling
	}
	if p, known := s.preferences[key]; known {
		return p
	}
	p := &podPreferences{}
	s.preferences[key] = p
	if p.byDefault = s.defaultSpread(pod); p.byDefault != nil {
		p.spread = s.spreads.constraints()
	}
	if pod.Rules != nil {
		s.spreadSoftly(p, pod, scheduling)
		s.follow(p, pod)
	}
	for _, terms := range s.rules.attracting {
		for _, t := range terms {
			if t.term.Matches(t.namespace, pod.Namespace, pod.Labels, s.namespaceLabels(pod.Namespace)) {
				p.attractions = append(p.attractions, attraction{t.counts(s), t.weight})
			}
		}
	}
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
		one.counts = &s.rules.counter(s, key, constraint.TopologyKey, true, eligible, func(o occupant) bool {
			return !selector.Empty() && selector.Matches(o.pod.Labels)
		}).counts
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
		p.attractions = append(p.attractions, attraction{&c.counts, int64(t.Weight)})
	}
}
