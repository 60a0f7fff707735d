// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Away words where the volumes of a pod are, if no node that its node selector and required affinity match can use
// them. It is "" where one can, and where they match no node at all: the volumes are not what keeps the pod away then.
func (f *Finder) Away(pod *snapshot.Pod, s *snapshot.Scheduling) string {
	volumes := f.snapshot.VolumesOf(pod)
	if len(volumes) == 0 {
		return ""
	}
	there := slices.DeleteFunc(slices.Clone(f.allPlaces()), func(p *place) bool { return !f.Selects(s, p.node.Name, p.node.Labels) })
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
