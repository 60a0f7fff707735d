// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// binding is what a pod has used of the storage once it is placed.
type binding []boundClaim

// boundClaim is a claim with a volume that is bound to it, or that is made for it.
type boundClaim struct {
	claim  *openClaim
	volume int
	// made is nil for a volume that was available.
	made *madeVolume
}

// madeVolume is a volume that a provisioner makes for a node.
type madeVolume struct {
	node *snapshot.Node
	// capacity is that from which it is made, nil for one that is not limited.
	capacity *snapshot.Capacity
	// exists is set once it is made.
	exists bool
}

// reaches reports whether a node can use a volume of a class, and whether that is known: a driver that reports capacities
// makes volumes for the nodes of one, and others are taken to make them for nodes that are equal in allowedTopologies.
func (m *madeVolume) reaches(class *snapshot.StorageClass, n *snapshot.Node) (reaches, known bool) {
	if m.capacity != nil {
		return m.capacity.Nodes.Matches(labels.Set(n.Labels)), true
	}
	return class.Together(m.node.Labels, n.Labels)
}

// usedStorage is what the pods of an order have used so far. Nil is nothing.
type usedStorage struct {
	volumes map[int]bool
	// claims leads to the volumes of claims that several pods may have.
	claims map[string]int
	// made are the volumes of such claims that a provisioner makes. refused is set once one that does not exist yet has
	// kept a pod from a node.
	made    map[string]*madeVolume
	refused bool
	// narrow is set for orders in which no other node can use a volume of which that is not known; guessed are the
	// classes of such volumes.
	narrow  bool
	guessed map[string]bool
	// capacities are counted in orders in which a driver reports what is left before the next pod is placed: the
	// scheduler itself subtracts nothing. They are below 0 by the volumes that are deleted with pods.
	capacities map[*snapshot.Capacity]int64
	counted    bool
	// joined is set for orders in which capacities that are equal are of one pool.
	joined bool
}

func (u *usedStorage) took(volume int) bool { return u != nil && u.volumes[volume] }

func (u *usedStorage) boundTo(c *openClaim) (volume int, is bool) {
	if u == nil || c.name == "" {
		return 0, false
	}
	volume, is = u.claims[c.name]
	return volume, is
}

// madeFor returns the volume that a provisioner makes for a claim, nil for none.
func (u *usedStorage) madeFor(c *openClaim) *madeVolume {
	if u == nil || !c.lasting {
		return nil
	}
	return u.made[c.name]
}

// keeps reports whether a volume that is made for a claim keeps pods from a node: from any other one until it exists, since
// the scheduler has chosen the node for the claim.
func (u *usedStorage) keeps(m *madeVolume, c *openClaim, p *place) bool {
	if m.node == p.node {
		return false
	}
	if !m.exists {
		u.refused = true
		return true
	}
	reaches, known := m.reaches(c.class, p.node)
	if !known {
		u.guessed[c.request.Class] = true
		return u.narrow
	}
	return !reaches
}

// provide lets volumes exist that are being made, and reports whether one has kept a pod from a node before.
func (u *usedStorage) provide() bool {
	refused := u.refused
	for _, m := range u.made {
		m.exists = true
	}
	u.refused = false
	return refused
}

// leaves reports whether a capacity is enough for one more volume.
func (u *usedStorage) leaves(c *snapshot.Capacity, size int64) bool {
	return u == nil || !u.counted || c.Total < 0 || c.Total-u.capacities[u.pool(c)] >= size
}

// pool returns the capacity by which a volume is counted.
func (u *usedStorage) pool(c *snapshot.Capacity) *snapshot.Capacity {
	if u.joined {
		return c.Pool()
	}
	return c
}

// reset takes back what an order has used.
func (u *usedStorage) reset(counted, joined, narrow bool) {
	u.volumes, u.claims, u.capacities, u.counted = map[int]bool{}, map[string]int{}, map[*snapshot.Capacity]int64{}, counted
	u.joined = joined
	u.made, u.refused, u.narrow = map[string]*madeVolume{}, false, narrow
	if u.guessed == nil {
		u.guessed = map[string]bool{}
	}
}

// use counts a binding.
func (u *usedStorage) use(b binding) {
	for _, one := range b {
		if one.made == nil {
			u.volumes[one.volume] = true
			if one.claim.name != "" {
				u.claims[one.claim.name] = one.volume
			}
			continue
		}
		if one.claim.lasting {
			u.made[one.claim.name] = one.made
		}
		if one.made.capacity != nil {
			u.capacities[u.pool(one.made.capacity)] += one.claim.request.Size
		}
	}
}

// release takes a binding back, but for claims that stay.
func (u *usedStorage) release(b binding) {
	for _, one := range b {
		switch {
		case one.claim.lasting:
		case one.made == nil:
			delete(u.volumes, one.volume)
			delete(u.claims, one.claim.name)
		case one.made.capacity != nil:
			u.capacities[u.pool(one.made.capacity)] -= one.claim.request.Size
		}
	}
}

// returnStorage counts the volumes of the pods as deleted that are gone before an order begins.
func (s *simulation) returnStorage() {
	for _, pod := range s.ephemeral {
		if after, goes := s.evicted[pod]; goes && after <= 0 {
			s.returnStorageOf(pod)
		}
	}
}

// returnStorageOf counts the volumes of a pod that are deleted with it
// (k8s.io/kubernetes v1.37.2 pkg/controller/volume/persistentvolume/pv_controller.go, reclaimVolume).
func (s *simulation) returnStorageOf(pod *snapshot.Pod) {
	if s.snapshot.Storage == nil || !pod.Ephemeral {
		return
	}
	for _, claim := range s.snapshot.Storage.Owned[pod.UID] {
		class := s.snapshot.Storage.Classes[claim.Request.Class]
		if class == nil || class.Retains {
			continue
		}
		for _, c := range s.capacitiesOf(class, pod.Node) {
			s.used.capacities[s.used.pool(c)] -= claim.Request.Size
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
		r.group.UnknownVolumes = r.group.UnknownVolumes || r.pod.Ephemeral && (stored == nil || stored.Claims == nil || len(stored.Owned[r.pod.Claimant()]) == 0)
	}
	for class := range s.used.guessed {
		out = append(out, volumesOf(class))
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

// storageScore is higher the less of the storage of a node the claims of a pod take, the mean of their classes: of the volumes
// that are bound to them, or else of the capacities from which their volumes are made. Before Kubernetes 1.37, it is 0 for all
// nodes (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, Score, and scorer.go).
func (s *simulation) storageScore(c *class, i int32) int64 {
	u := c.search.open
	if !s.scoresStorage || u.state != snapshot.Bindable {
		return 0
	}
	b, _, refuses := s.bindClaims(u, s.places[i], &s.used, first)
	if refuses {
		return 0
	}
	static := slices.ContainsFunc(b, func(one boundClaim) bool { return one.made == nil })
	uses := map[string]storageUse{}
	for _, one := range b {
		of := uses[one.claim.request.Class]
		switch {
		case static && one.made == nil:
			of.capacity += s.freeVolumes().all[one.volume].Size
		case !static && one.made.capacity != nil:
			of.capacity = one.made.capacity.Total
		default:
			continue
		}
		of.requested += one.claim.request.Size
		uses[one.claim.request.Class] = of
	}
	return meanStorage(uses)
}

// storageUse is how much claims of a StorageClass ask for, and of how much.
type storageUse struct{ requested, capacity int64 }

// meanStorage returns the mean of the classes: 100 where nothing is used, 0 where all is.
func meanStorage(uses map[string]storageUse) int64 {
	sum := int64(0)
	for _, of := range uses {
		if of.capacity > 0 && of.requested <= of.capacity {
			sum += maxScore - of.requested*maxScore/of.capacity
		}
	}
	return int64(math.Round(float64(sum) / float64(max(len(uses), 1))))
}
