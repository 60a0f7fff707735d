// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// binding is what a pod has used of the storage once it is placed.
type binding struct {
	// volumes are bound to the claims of these names, "" for those of one pod.
	volumes []int
	claims  []string
	// capacities are those from which volumes of these sizes are made.
	capacities []*snapshot.Capacity
	sizes      []int64
}

// usedStorage is what the pods of an order have used so far. Nil is nothing.
type usedStorage struct {
	volumes map[int]bool
	// claims leads to the volumes of claims that several pods may have.
	claims map[string]int
	// capacities are counted in orders in which a driver reports what is left before the next pod is placed: the
	// scheduler itself subtracts nothing. They begin below 0 by the volumes that are deleted with evicted pods.
	capacities map[*snapshot.Capacity]int64
	counted    bool
	returned   map[*snapshot.Capacity]int64
}

func (u *usedStorage) took(volume int) bool { return u != nil && u.volumes[volume] }

func (u *usedStorage) boundTo(c *openClaim) (volume int, is bool) {
	if u == nil || c.name == "" {
		return 0, false
	}
	volume, is = u.claims[c.name]
	return volume, is
}

// leaves reports whether a capacity is enough for one more volume.
func (u *usedStorage) leaves(c *snapshot.Capacity, size int64) bool {
	return u == nil || !u.counted || c.Total < 0 || c.Total-u.capacities[c] >= size
}

// reset takes back what an order has used.
func (u *usedStorage) reset(counted bool) {
	u.volumes, u.claims, u.capacities, u.counted = map[int]bool{}, map[string]int{}, map[*snapshot.Capacity]int64{}, counted
	for c, size := range u.returned {
		u.capacities[c] = -size
	}
}

// use counts a binding.
func (u *usedStorage) use(b binding) {
	for i, volume := range b.volumes {
		u.volumes[volume] = true
		if b.claims[i] != "" {
			u.claims[b.claims[i]] = volume
		}
	}
	for i, c := range b.capacities {
		u.capacities[c] += b.sizes[i]
	}
}

// release takes a binding back.
func (u *usedStorage) release(b binding) {
	for i, volume := range b.volumes {
		delete(u.volumes, volume)
		delete(u.claims, b.claims[i])
	}
	for i, c := range b.capacities {
		u.capacities[c] -= b.sizes[i]
	}
}

// returns counts the volumes of a pod that are deleted with it.
func (s *simulation) returns(pod *snapshot.Pod) {
	if s.snapshot.Storage == nil || !pod.Ephemeral {
		return
	}
	for _, claim := range s.snapshot.Storage.Owned[pod.UID] {
		class := s.snapshot.Storage.Classes[claim.Request.Class]
		if class == nil {
			continue
		}
		for _, c := range s.capacitiesOf(class, pod.Node) {
			if s.used.returned == nil {
				s.used.returned = map[*snapshot.Capacity]int64{}
			}
			s.used.returned[c] += claim.Request.Size
		}
	}
}

// unmodelledStorage names what is not known of the storage that replacements need, and notes for which the claims of
// generic ephemeral volumes were not read.
func (s *simulation) unmodelledStorage() []string {
	var out []string
	for _, r := range s.replacements[:s.fixed] {
		if r.group == nil {
			continue
		}
		if open := r.class.search.open; open != nil {
			out = append(out, open.unknown...)
		}
		stored := s.snapshot.Storage
		r.group.UnknownVolumes = r.group.UnknownVolumes || r.pod.Ephemeral && (stored == nil || stored.Claims == nil || len(stored.Owned[r.pod.UID]) == 0)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// stored reports whether there is storage left on a node for pods of a class.
func (s *simulation) stored(c *class, i int32) (obstacle, bool) {
	u := c.search.open
	if u == nil || u.state != snapshot.Bindable || len(u.claims) == 0 {
		return obstacle{}, true
	}
	_, o, refuses := s.bindClaims(u, s.places[i], &s.used, first)
	return o, !refuses
}

// store uses storage of a node for a pod that is placed there: of volumes that the scheduler does not tell apart one by chance.
func (s *simulation) store(r *replacement, node int32) {
	u := r.class.search.open
	if u == nil || len(u.claims) == 0 {
		return
	}
	b, _, refuses := s.bindClaims(u, s.places[node], &s.used, s.chance.of(ofVolumes, r.name).pick)
	if refuses {
		b, _, refuses = s.bindClaims(u, s.places[node], &s.used, first)
	}
	if !refuses {
		s.used.use(b)
		r.binding = b
	}
}
