// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// allPlaces collects the nodes on first need, in the order of their names, and behind them those that come.
func (f *Finder) allPlaces() []*place {
	if f.places == nil {
		places := make([]place, 0, len(f.snapshot.Nodes))
		f.places, f.byName = make([]*place, 0, len(f.snapshot.Nodes)), make(map[string]*place, len(f.snapshot.Nodes))
		for _, n := range f.snapshot.SortedNodes() {
			after := n.Taints
			if changed, ok := f.change.Taints[n.Name]; ok {
				after = changed
			}
			if labels, changed := f.change.Labels[n.Name]; changed {
				relabelled := *n
				relabelled.Labels, n = labels, &relabelled
			}
			places = append(places, place{
				node: n, after: after, soft: softTaints(after), has: n.Allocatable, cordoned: n.Unschedulable,
				drained: f.change.Drained[n.Name], closed: f.change.Closed[n.Name] || f.unread(n.Name), limits: volumeLimits(f.snapshot, n.Name), index: len(places),
				deleted: f.change.Deleted[n.Name], turn: f.change.Turns[n.Name],
			})
			p := &places[len(places)-1]
			f.places, f.byName[n.Name] = append(f.places, p), p
		}
		f.there = len(f.places)
		f.bring()
	}
	return f.places
}

// unread reports whether the pods of a node were not read: what room it has is not known, so that
// it counts as one that takes no pods.
func (f *Finder) unread(node string) bool {
	return f.snapshot.Only != nil && !f.snapshot.Only[node]
}

// lookUp returns the only nodes that terms can allow, where each of them names
// nodes or values of a label. The DaemonSet controller binds each pod to its node
// in this way, as local volumes do: to look at every node for every one of them
// would cost their product.
func (f *Finder) lookUp(terms []corev1.NodeSelectorTerm) ([]*place, bool) {
	if len(terms) == 0 {
		return nil, false
	}
	var out []*place
	for i := range terms {
		fewest, ok := f.lookUpTerm(&terms[i])
		if !ok {
			return nil, false
		}
		if len(terms) == 1 {
			return fewest, true
		}
		out = append(out, fewest...)
	}
	slices.SortFunc(out, func(a, b *place) int { return a.index - b.index })
	return slices.Compact(out), true
}

// lookUpTerm takes the requirement of a term that allows the fewest nodes: all
// of them must be met.
func (f *Finder) lookUpTerm(term *corev1.NodeSelectorTerm) (fewest []*place, ok bool) {
	offer := func(list []*place) {
		if !ok || len(list) < len(fewest) {
			fewest, ok = list, true
		}
	}
	for i := range term.MatchFields {
		if r := &term.MatchFields[i]; r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn {
			offer(union(f.byName, r.Values))
		}
	}
	if ok {
		return fewest, true
	}
	for i := range term.MatchExpressions {
		if r := &term.MatchExpressions[i]; r.Operator == corev1.NodeSelectorOpIn {
			values := f.labelled(r.Key)
			if len(r.Values) == 1 {
				offer(values[r.Values[0]])
				continue
			}
			var list []*place
			for _, value := range r.Values {
				list = append(list, values[value]...)
			}
			offer(list)
		}
	}
	return fewest, ok
}

func union(places map[string]*place, names []string) []*place {
	var out []*place
	for _, name := range names {
		if p, there := places[name]; there {
			out = append(out, p)
		}
	}
	return out
}

// labelled returns the nodes that have a label, by its values.
func (f *Finder) labelled(key string) map[string][]*place {
	values, known := f.byLabel[key]
	if !known {
		values = map[string][]*place{}
		for _, p := range f.allPlaces() {
			if value, has := p.node.Labels[key]; has {
				values[value] = append(values[value], p)
			}
		}
		f.byLabel[key] = values
	}
	return values
}
