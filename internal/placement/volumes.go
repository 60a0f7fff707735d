// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// volumeSet is a list of node affinities that pods have by their volumes. Equal
// lists are one, so that pods can share what was found for them.
type volumeSet struct {
	rest     *volumeSet
	affinity *corev1.NodeSelector
}

func (f *Finder) volumeSet(volumes []*snapshot.Volume) *volumeSet {
	var set *volumeSet
	for _, v := range volumes {
		link := volumeSet{rest: set, affinity: v.Affinity}
		known := f.volumeSets[link]
		if known == nil {
			known = &link
			f.volumeSets[link] = known
		}
		set = known
	}
	return set
}

// bound words where a volume can be used.
func (f *Finder) bound(v *snapshot.Volume) string {
	where, known := f.bindings[v.Affinity]
	if !known {
		where = f.whereabouts(v.Affinity)
		f.bindings[v.Affinity] = where
	}
	return "its volume " + v.Name + " is bound to " + where
}

func (f *Finder) whereabouts(affinity *corev1.NodeSelector) string {
	matches := f.volumeMatcher(affinity)
	nodes, ok := f.lookUp(volumeTerms(affinity))
	if !ok {
		nodes = f.allPlaces()
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
func (f *Finder) volumeMatcher(affinity *corev1.NodeSelector) func(*snapshot.Node) bool {
	selector := nodeaffinity.NewLazyErrorNodeSelector(affinity)
	return func(n *snapshot.Node) bool {
		f.scratch.Name, f.scratch.Labels = "", n.Labels
		ok, err := selector.Match(&f.scratch)
		return ok && err == nil
	}
}
