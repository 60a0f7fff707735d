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

// volumeSet is a list of node affinities and zones that pods have by their volumes. Equal
// lists are one, so that pods can share what was found for them.
type volumeSet struct {
	rest *volumeSet
	at   location
}

// location is where a volume can be used.
type location struct {
	affinity *corev1.NodeSelector
	zones    *snapshot.Zones
}

func locationOf(v *snapshot.Volume) location { return location{v.Affinity, v.Zones} }

func (f *Finder) volumeSet(volumes []*snapshot.Volume) *volumeSet {
	var set *volumeSet
	for _, v := range volumes {
		link := volumeSet{set, locationOf(v)}
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
	at := locationOf(v)
	where, known := f.bindings[at]
	if !known {
		where = f.whereabouts(at)
		f.bindings[at] = where
	}
	return "its volume " + v.Name + " is bound to " + where
}

func (f *Finder) whereabouts(at location) string {
	matches := f.volumeMatcher(at)
	nodes, ok := f.lookUp(volumeTerms(at))
	if !ok {
		nodes = f.allPlaces()
	}
	var names []string
	for _, p := range nodes {
		if p.coming == nil && matches(p.node) {
			names = append(names, p.node.Name)
		}
	}
	switch {
	case len(names) == 0:
		return "no node of this cluster"
	case len(names) == 1:
		return "node " + names[0]
	case at.affinity == nil && len(*at.zones) == 1:
		for key, zones := range *at.zones {
			return "nodes with " + key + "=" + strings.Join(zones, " or ")
		}
	case at.zones == nil && len(at.affinity.NodeSelectorTerms) == 1 && len(at.affinity.NodeSelectorTerms[0].MatchExpressions) == 1:
		if r := at.affinity.NodeSelectorTerms[0].MatchExpressions[0]; r.Operator == corev1.NodeSelectorOpIn && len(r.Values) <= 3 {
			return "nodes with " + r.Key + "=" + strings.Join(r.Values, " or ")
		}
	}
	return fmt.Sprintf("%d nodes", len(names))
}

// volumeTerms returns the terms by which an affinity can be looked up, none where
// it names nodes: these names are not looked at.
func volumeTerms(at location) []corev1.NodeSelectorTerm {
	affinity := at.affinity
	if affinity == nil || slices.ContainsFunc(affinity.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return len(t.MatchFields) > 0 }) {
		return nil
	}
	return affinity.NodeSelectorTerms
}

// volumeMatcher matches nodes by their labels. An affinity that does not parse
// matches nothing, as in the scheduler.
func (f *Finder) volumeMatcher(at location) func(*snapshot.Node) bool {
	zoned := func(n *snapshot.Node) bool { return at.zones == nil || at.zones.Match(n.Labels) }
	if at.affinity == nil {
		return zoned
	}
	selector := nodeaffinity.NewLazyErrorNodeSelector(at.affinity)
	return func(n *snapshot.Node) bool {
		if !zoned(n) {
			return false
		}
		f.scratch.Name, f.scratch.Labels = "", n.Labels
		ok, err := selector.Match(&f.scratch)
		return ok && err == nil
	}
}
