// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// requiredWeight is what a required term of a pod weighs for others that it selects
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/apis/config/v1/defaults.go, HardPodAffinityWeight).
const requiredWeight = 1

// attraction counts pods that attract another one to their domains. The weight is negative where they keep it away.
type attraction struct {
	*softCounts

	weight int64
}

// attractions are the terms by which pods attract others.
type attractions struct {
	of map[rulesKey]*attracting
	// local are the terms that select pods of one namespace, anywhere the others.
	local    map[string][]*attractingTerm
	anywhere []*attractingTerm
}

// rulesKey is what pods have in common whose terms select the same pods.
type rulesKey struct {
	rules     *snapshot.PodRules
	namespace string
}

// attracting are pods with the same terms, and where those are that count at the first moment.
type attracting struct {
	rulesKey

	terms []*attractingTerm
	pods  []located
}

// attractingTerm is a term of such pods. They are counted once one of them comes or leaves, or a pod is placed that it selects.
type attractingTerm struct {
	*attracting

	term    *snapshot.PodTerm
	weight  int64
	counted *softCounts
}

// note returns the pods that have the terms of this one, nil where it has none.
func (a *attractions) note(pod *snapshot.Pod) *attracting {
	if pod.Rules == nil || len(pod.Rules.Affinity)+len(pod.Rules.Preferred) == 0 {
		return nil
	}
	key := rulesKey{pod.Rules, pod.Namespace}
	if g := a.of[key]; g != nil {
		return g
	}
	g := &attracting{rulesKey: key}
	a.of[key] = g
	add := func(term *snapshot.PodTerm, weight int64) {
		t := &attractingTerm{attracting: g, term: term, weight: weight}
		if g.terms = append(g.terms, t); term.OwnNamespace {
			a.local[key.namespace] = append(a.local[key.namespace], t)
		} else {
			a.anywhere = append(a.anywhere, t)
		}
	}
	for i := range pod.Rules.Affinity {
		add(&pod.Rules.Affinity[i], requiredWeight)
	}
	for i := range pod.Rules.Preferred {
		add(&pod.Rules.Preferred[i].PodTerm, int64(pod.Rules.Preferred[i].Weight))
	}
	return g
}

// counts returns how many of the pods are where. It is called before the first of them comes or leaves.
func (t *attractingTerm) counts(s *simulation) *softCounts {
	if t.counted == nil {
		t.counted = newSoftCounts(s.rules.topology(s, t.term.TopologyKey))
		for _, l := range t.pods {
			t.counted.add(l.node, 1)
		}
		if s.running {
			t.counted.reset()
		}
	}
	return t.counted
}

// update counts a pod with terms that comes to a node, or that leaves it where n is -1. Pods that are terminating count
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/interpodaffinity/scoring.go, processExistingPod).
func (a *attractions) update(s *simulation, i int32, o occupant, n int32) {
	if g := a.of[rulesKey{o.pod.Rules, o.pod.Namespace}]; g != nil {
		for _, t := range g.terms {
			t.counts(s).add(i, n)
		}
	}
}

func (a *attractions) reset() {
	for _, g := range a.of {
		for _, t := range g.terms {
			if t.counted != nil {
				t.counted.reset()
			}
		}
	}
}

// may reports whether a pod of a namespace may be attracted.
func (a *attractions) may(namespace string) bool {
	return len(a.anywhere)+len(a.local[namespace]) > 0
}

// to adds the terms of other pods that select this one.
func (a *attractions) to(s *simulation, pod *snapshot.Pod) (out []attraction) {
	labels := s.namespaceLabels(pod.Namespace)
	for _, terms := range [][]*attractingTerm{a.local[pod.Namespace], a.anywhere} {
		for _, t := range terms {
			if t.term.Matches(t.namespace, pod.Namespace, pod.Labels, labels) {
				out = append(out, attraction{t.counts(s), t.weight})
			}
		}
	}
	return out
}
