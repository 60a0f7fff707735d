// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// Volume is a PersistentVolume that can be used on some nodes only.
type Volume struct {
	Name string
	// Affinity is its required node affinity, shared by volumes that are equal in
	// it. It is matched against labels alone (k8s.io/component-helpers
	// storage/volume/helpers.go, CheckNodeAffinity).
	Affinity *corev1.NodeSelector
}

// volumeSet is a list of node affinities that pods have by their volumes. Equal
// lists are one, so that pods can share what was found for them.
type volumeSet struct {
	rest     *volumeSet
	affinity *corev1.NodeSelector
}

// volumes returns the volumes that bind a pod to certain nodes: those of its
// bound claims, one for each affinity. A claim that is not bound, or that was not
// read, binds nobody.
func (e *evaluation) volumes(pod *Pod) []*Volume {
	if len(pod.Claims) == 0 {
		return nil
	}
	var out []*Volume
	for _, claim := range pod.Claims {
		volume := e.snapshot.Volumes[pod.Namespace][claim]
		if volume != nil && !slices.ContainsFunc(out, func(v *Volume) bool { return v.Affinity == volume.Affinity }) {
			out = append(out, volume)
		}
	}
	return out
}

func (e *evaluation) volumeSet(volumes []*Volume) *volumeSet {
	var set *volumeSet
	for _, v := range volumes {
		link := volumeSet{rest: set, affinity: v.Affinity}
		known := e.volumeSets[link]
		if known == nil {
			known = &link
			e.volumeSets[link] = known
		}
		set = known
	}
	return set
}

// bound words where a volume can be used.
func (e *evaluation) bound(v *Volume) string {
	where, known := e.bindings[v.Affinity]
	if !known {
		where = e.whereabouts(v.Affinity)
		e.bindings[v.Affinity] = where
	}
	return "its volume " + v.Name + " is bound to " + where
}

func (e *evaluation) whereabouts(affinity *corev1.NodeSelector) string {
	matches := e.volumeMatcher(affinity)
	nodes, ok := e.lookUp(volumeTerms(affinity))
	if !ok {
		nodes = e.allPlaces()
	}
	var names []string
	for _, p := range nodes {
		if matches(p.node) {
			names = append(names, p.node.Name)
		}
	}
	switch {
	case len(names) == 0:
		return "no node of this cluster"
	case len(names) == 1:
		return "node " + names[0]
	case len(affinity.NodeSelectorTerms) == 1 && len(affinity.NodeSelectorTerms[0].MatchExpressions) == 1:
		if r := affinity.NodeSelectorTerms[0].MatchExpressions[0]; r.Operator == corev1.NodeSelectorOpIn && len(r.Values) <= 3 {
			return "nodes with " + r.Key + "=" + strings.Join(r.Values, " or ")
		}
	}
	return fmt.Sprintf("%d nodes", len(names))
}

// volumeTerms returns the terms by which an affinity can be looked up, none where
// it names nodes: these names are not looked at.
func volumeTerms(affinity *corev1.NodeSelector) []corev1.NodeSelectorTerm {
	if slices.ContainsFunc(affinity.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 }) {
		return nil
	}
	return affinity.NodeSelectorTerms
}

// volumeMatcher matches nodes by their labels. An affinity that does not parse
// matches nothing, as in the scheduler.
func (e *evaluation) volumeMatcher(affinity *corev1.NodeSelector) func(*Node) bool {
	selector := nodeaffinity.NewLazyErrorNodeSelector(affinity)
	return func(n *Node) bool {
		e.scratch.Name, e.scratch.Labels = "", n.Labels
		ok, err := selector.Match(&e.scratch)
		return ok && err == nil
	}
}
