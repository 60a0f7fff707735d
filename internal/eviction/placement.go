// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// home says whether any node would take pods of this scheduling after the
// change: by its taints, cordon, node selector and required node affinity.
func (e *evaluation) home(s *Scheduling) bool {
	found, known := e.homes[s]
	if !known {
		found = e.findHome(s)
		e.homes[s] = found
	}
	return found
}

func (e *evaluation) findHome(s *Scheduling) bool {
	gate := e.comparison == ComparisonOn
	var affinity *corev1.Affinity
	if s.Affinity != nil {
		affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: s.Affinity}}
	}
	required := nodeaffinity.NewRequiredNodeAffinity(s.NodeSelector, affinity)
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	cordonTolerated := taint.FirstMatch(s.Tolerations, cordon, gate) >= 0
	takes := func(p place) bool {
		if p.node.Unschedulable && !cordonTolerated || keepsAway(s.Tolerations, p.after, gate) != nil {
			return false
		}
		e.scratch.Name, e.scratch.Labels = p.node.Name, p.node.Labels
		// An affinity that does not parse matches nothing, as in the scheduler.
		ok, err := required.Match(&e.scratch)
		return ok && err == nil
	}
	if names, ok := namedNodes(s.Affinity); ok {
		return slices.ContainsFunc(names, func(name string) bool {
			node, there := e.snapshot.Nodes[name]
			return there && !e.change.Drains[name] && takes(e.place(node))
		})
	}
	return slices.ContainsFunc(e.allPlaces(), takes)
}

// place is a node with its taints after the change.
type place struct {
	node  *Node
	after []corev1.Taint
}

func (e *evaluation) place(n *Node) place {
	_, after := e.taints(n.Name)
	return place{node: n, after: after}
}

// allPlaces collects the nodes that are not drained, on first need.
func (e *evaluation) allPlaces() []place {
	if e.places == nil {
		e.places = make([]place, 0, len(e.snapshot.Nodes))
		for _, n := range e.snapshot.Nodes {
			if !e.change.Drains[n.Name] {
				e.places = append(e.places, e.place(n))
			}
		}
	}
	return e.places
}

// namedNodes returns the only nodes that an affinity can allow, where it names
// them. The DaemonSet controller binds each pod to its node in this way, and to
// look at every node for every such pod would cost their product.
func namedNodes(affinity *corev1.NodeSelector) (names []string, ok bool) {
	if affinity == nil {
		return nil, false
	}
	for _, term := range affinity.NodeSelectorTerms {
		at := slices.IndexFunc(term.MatchFields, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn
		})
		if at < 0 {
			return nil, false
		}
		names = append(names, term.MatchFields[at].Values...)
	}
	return names, true
}
