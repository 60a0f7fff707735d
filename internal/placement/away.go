// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Away words where the volumes of a pod are that hosts have, if no node that its node selector and required affinity
// match can use them. It is "" where one can, and where they match no node at all: the volumes are not what keeps the pod
// away then. Volumes of a zone are left out: another node of it may join.
func (f *Finder) Away(pod *snapshot.Pod, s *snapshot.Scheduling) string {
	volumes := slices.DeleteFunc(slices.Clone(f.snapshot.VolumesOf(pod)), func(v *snapshot.Volume) bool { return !ofHosts(v) })
	if len(volumes) == 0 {
		return ""
	}
	there := slices.DeleteFunc(slices.Clone(f.allPlaces()[:f.there]), func(p *place) bool { return !f.Selects(s, p.node.Name, p.node.Labels) })
	if len(there) == 0 {
		return ""
	}
	var words []string
	all := slices.Clone(there)
	for _, v := range volumes {
		matches := f.volumeMatcher(locationOf(v))
		if !slices.ContainsFunc(all, func(p *place) bool { return matches(p.node) }) {
			words = append(words, f.bound(v))
		}
		there = slices.DeleteFunc(there, func(p *place) bool { return !matches(p.node) })
	}
	if len(there) > 0 {
		return ""
	}
	if len(words) == 0 {
		// Each of them can be used on a node, and no node can use all.
		for _, v := range volumes {
			words = append(words, f.bound(v))
		}
	}
	return strings.Join(words, ", ")
}

// ofHosts reports whether a volume can be used by hosts alone that it names, as a local one.
func ofHosts(v *snapshot.Volume) bool {
	return v.Affinity != nil && !slices.ContainsFunc(v.Affinity.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(term.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == corev1.LabelHostname && r.Operator == corev1.NodeSelectorOpIn
		})
	})
}
