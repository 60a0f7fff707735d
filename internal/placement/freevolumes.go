// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// freeVolumes are the volumes that can be bound to claims, by their indices: a smaller volume has a smaller one.
type freeVolumes struct {
	all []*snapshot.FreeVolume
	// reserved are those that are reserved for a claim, by its namespace and name.
	reserved map[string][]int
	// anywhere are those that every node can use, at the others by the index of a node.
	anywhere []int
	at       map[int][]int
}

func (f *Finder) freeVolumes() *freeVolumes {
	if f.storage.free != nil {
		return f.storage.free
	}
	v := &freeVolumes{all: f.snapshot.Storage.Volumes, reserved: map[string][]int{}, at: map[int][]int{}}
	f.storage.free = v
	nodes := map[*corev1.NodeSelector][]*place{}
	for i, one := range v.all {
		if one.For != "" {
			v.reserved[one.For] = append(v.reserved[one.For], i)
		}
		if one.Affinity == nil {
			v.anywhere = append(v.anywhere, i)
			continue
		}
		if _, known := nodes[one.Affinity]; !known {
			nodes[one.Affinity] = f.placesOf(location{affinity: one.Affinity})
		}
		for _, p := range nodes[one.Affinity] {
			v.at[p.index] = append(v.at[p.index], i)
		}
	}
	return v
}

// placesOf returns the nodes on which a volume can be used.
func (f *Finder) placesOf(at location) (out []*place) {
	places, ok := f.lookUp(volumeTerms(at))
	if !ok {
		places = f.allPlaces()
	}
	matches := f.volumeMatcher(at)
	for _, p := range places {
		if matches(p.node) {
			out = append(out, p)
		}
	}
	return out
}

// on returns the volumes that one node can use and others cannot.
func (v *freeVolumes) on(p *place) []int { return v.at[p.index] }

// usable reports whether a node can use a volume.
func (v *freeVolumes) usable(i int, p *place) bool {
	return v.all[i].Affinity == nil || slices.Contains(v.on(p), i)
}

// fits returns the smallest of the volumes of a node that can be bound to a claim, and others of the same size.
func (v *freeVolumes) fits(c *openClaim, p *place, taken func(int) bool) (out []int) {
	for _, list := range [][]int{v.anywhere, v.on(p)} {
		for _, i := range list {
			if len(out) > 0 && v.all[i].Size > v.all[out[0]].Size {
				break
			}
			if taken(i) || !v.all[i].Matches(c.request) {
				continue
			}
			if len(out) > 0 && v.all[i].Size < v.all[out[0]].Size {
				out = out[:0]
			}
			out = append(out, i)
		}
	}
	return out
}

// candidates returns the volumes that can be bound to a claim on a node and that the scheduler does not tell apart. One that
// is reserved for the claim rules out the others, even where the node cannot use it
// (k8s.io/component-helpers v0.37.2 storage/volume/pv_helpers.go, FindMatchingVolume).
func (v *freeVolumes) candidates(c *openClaim, p *place, taken func(int) bool) []int {
	if c.name != "" {
		for _, i := range v.reserved[c.name] {
			if taken(i) || !v.all[i].ReservedFor(c.name, c.uid) || !v.all[i].Suits(c.request) {
				continue
			}
			if v.usable(i, p) {
				return []int{i}
			}
			return nil
		}
	}
	return v.fits(c, p, taken)
}
