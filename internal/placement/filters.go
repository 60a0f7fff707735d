// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// constraint is something of a pod that only some nodes match.
type constraint struct {
	obstacle obstacle
	matches  func(*snapshot.Node) bool
	// terms is what it demands, in the form in which it can be looked up.
	terms []corev1.NodeSelectorTerm
}

// constraints lists what a node must match for pods of a scheduling with these
// volumes. An affinity that does not parse matches nothing, as in the scheduler.
func (f *Finder) constraints(s *snapshot.Scheduling, volumes []*snapshot.Volume) []constraint {
	var out []constraint
	for i, v := range volumes {
		out = append(out, constraint{obstacle{kind: byVolume, volume: i}, f.volumeMatcher(locationOf(v)), volumeTerms(locationOf(v))})
	}
	matcher := func(required nodeaffinity.RequiredNodeAffinity) func(*snapshot.Node) bool {
		return func(n *snapshot.Node) bool {
			f.scratch.Name, f.scratch.Labels = n.Name, n.Labels
			ok, err := required.Match(&f.scratch)
			return ok && err == nil
		}
	}
	if len(s.NodeSelector) > 0 {
		var term corev1.NodeSelectorTerm
		for key, value := range s.NodeSelector {
			term.MatchExpressions = append(term.MatchExpressions, corev1.NodeSelectorRequirement{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}})
		}
		out = append(out, constraint{obstacle{kind: bySelector}, matcher(nodeaffinity.NewRequiredNodeAffinity(s.NodeSelector, nil)), []corev1.NodeSelectorTerm{term}})
	}
	if s.Affinity != nil {
		var matches func(*snapshot.Node) bool
		if name, bound := boundTo(s.Affinity); bound {
			matches = func(n *snapshot.Node) bool { return n.Name == name }
		} else {
			matches = matcher(nodeaffinity.NewRequiredNodeAffinity(nil, nodeAffinity(s.Affinity)))
		}
		out = append(out, constraint{obstacle{kind: byAffinity}, matches, s.Affinity.NodeSelectorTerms})
	}
	return out
}

// boundTo returns the one node that an affinity allows by name and nothing else, as the
// DaemonSet controller writes it for each of its pods: to parse all of these is a third
// of what verdicts allocate.
func boundTo(required *corev1.NodeSelector) (name string, bound bool) {
	if len(required.NodeSelectorTerms) != 1 {
		return "", false
	}
	term := &required.NodeSelectorTerms[0]
	if len(term.MatchExpressions) > 0 || len(term.MatchFields) != 1 {
		return "", false
	}
	r := &term.MatchFields[0]
	if r.Key != metav1.ObjectNameField || r.Operator != corev1.NodeSelectorOpIn || len(r.Values) != 1 {
		return "", false
	}
	return r.Values[0], true
}

// Matching returns which nodes have what the pod requires of them, if it had this scheduling: by node selector, required
// affinity and bound volumes, whatever their taints, cordon and room.
func (f *Finder) Matching(pod *snapshot.Pod, s *snapshot.Scheduling) func(*snapshot.Node) bool {
	constraints := f.search(pod, s).constraints
	return func(n *snapshot.Node) bool {
		return !slices.ContainsFunc(constraints, func(c constraint) bool { return !c.matches(n) })
	}
}

// Selects reports whether the node selector and the required affinity of a scheduling match a node.
// What cannot be parsed matches nothing, without an error, as for the DaemonSet controller.
func (f *Finder) Selects(s *snapshot.Scheduling, name string, labels map[string]string) bool {
	required, known := f.required[s]
	if !known {
		required = nodeaffinity.NewRequiredNodeAffinity(s.NodeSelector, nodeAffinity(s.Affinity))
		f.required[s] = required
	}
	f.scratch.Name, f.scratch.Labels = name, labels
	ok, _ := required.Match(&f.scratch)
	return ok
}

func nodeAffinity(required *corev1.NodeSelector) *corev1.Affinity {
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: required}}
}

// UntoleratedTaint returns the first taint that keeps a pod from being scheduled
// (scheduler plug-in TaintToleration: NoSchedule and NoExecute filter,
// PreferNoSchedule only scores).
func UntoleratedTaint(tolerations []corev1.Toleration, taints []corev1.Taint, gate bool) *corev1.Taint {
	for i := range taints {
		if taints[i].Effect != corev1.TaintEffectPreferNoSchedule && taint.FirstMatch(tolerations, taints[i], gate) < 0 {
			return &taints[i]
		}
	}
	return nil
}
