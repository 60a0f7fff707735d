// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// room is what a node has left after the change for a pod that respects pods of a
// priority and above. Negative amounts are possible: pods that are bound to a node by
// hand are not counted beforehand.
type room struct {
	priority                          int32
	milliCPU, memory, ephemeral, pods int64
}

// rooms are what nodes have left, counted once for a node, and only for nodes that are
// looked at: to count them all would cost as much as there are pods. Those of one node
// are a part of all, by falling priority, from what it has while it is empty to what is
// left beside all of its pods.
type rooms struct {
	all []room
	// parts are in the order of places.
	parts []struct{ from, to int }
}

// room returns what pods that certainly stay on a node leave for a pod that respects
// pods of this priority.
func (f *Finder) room(p *place, respects int32) *room {
	if f.rooms.parts == nil {
		n := len(f.places)
		f.rooms.parts, f.rooms.all = make([]struct{ from, to int }, n), make([]room, 0, 4*n)
	}
	part := &f.rooms.parts[p.index]
	if part.to == 0 {
		part.from = len(f.rooms.all)
		f.count(p)
		part.to = len(f.rooms.all)
	}
	last := part.from
	for i := last + 1; i < part.to && f.rooms.all[i].priority >= respects; i++ {
		last = i
	}
	return &f.rooms.all[last]
}

// count appends what a node has left to all.
func (f *Finder) count(p *place) {
	has, from := p.has, len(f.rooms.all)
	f.rooms.all = append(f.rooms.all, room{milliCPU: has.MilliCPU, memory: has.Memory, ephemeral: has.EphemeralStorage, pods: has.Pods})
	f.holding(p, func(d *snapshot.Demand, priority int32) {
		at := from + 1
		for at < len(f.rooms.all) && f.rooms.all[at].priority > priority {
			at++
		}
		if at == len(f.rooms.all) || f.rooms.all[at].priority != priority {
			f.rooms.all = slices.Insert(f.rooms.all, at, room{priority: priority})
		}
		r := &f.rooms.all[at]
		r.milliCPU -= d.Holds.MilliCPU
		r.memory -= d.Holds.Memory
		r.ephemeral -= d.Holds.EphemeralStorage
		r.pods--
	})
	for i := from + 1; i < len(f.rooms.all); i++ {
		above, r := &f.rooms.all[i-1], &f.rooms.all[i]
		r.milliCPU += above.milliCPU
		r.memory += above.memory
		r.ephemeral += above.ephemeral
		r.pods += above.pods
	}
}

// holding calls add with the demand of each pod that certainly keeps its place on a
// node, and with its priority: no preemption frees the room of a static pod, since its kubelet goes on. The scheduler does not see completed pods (pkg/scheduler/scheduler.go,
// newPodInformer); it does see those that are being deleted, but these will be
// gone, as will be those that leave by this change.
func (f *Finder) holding(p *place, add func(d *snapshot.Demand, priority int32)) {
	if p.coming != nil {
		for _, pod := range f.everywhere(p.coming) {
			add(pod.Requests(), pod.Requests().Priority)
		}
		return
	}
	var leaves func(*snapshot.Pod) bool
	if f.change.Leaving != nil {
		leaves = f.change.Leaving(p.node.Name)
	}
	for _, pod := range f.snapshot.Pods[p.node.Name] {
		if pod.Completed || pod.Terminating || leaves != nil && leaves(pod) {
			continue
		}
		priority := pod.Requests().Priority
		if pod.Mirror {
			priority = math.MaxInt32
		}
		add(pod.Requests(), priority)
	}
}

// everywhere returns the pods of which a node that comes gets the like: those that run on every node.
func (f *Finder) everywhere(c *Coming) []*snapshot.Pod {
	return slices.DeleteFunc(slices.Clone(f.snapshot.Pods[c.Like]), func(p *snapshot.Pod) bool { return !f.snapshot.RunsOnEveryNode(p) || p.Terminating || p.Completed })
}

// shortage is a resource of which a node has too little.
type shortage struct {
	resource    corev1.ResourceName
	needs, free int64
}

// lacks returns the first resource that a pod of this demand would not find on a
// node if it came alone (noderesources/fit.go, fitsRequest). Of several, the
// rarest kind says most. A node that does not report what it has is taken to have
// enough: its kubelet has not reported yet.
func (f *Finder) lacks(p *place, d *snapshot.Demand) (shortage, bool) {
	has := p.has
	if has == nil {
		return shortage{}, false
	}
	for i := range d.Asks.Others {
		ask := d.Asks.Others[i]
		if free := f.free(p, respects(d), ask.Name); ask.Value > free {
			return shortage{ask.Name, ask.Value, free}, true
		}
	}
	r := f.room(p, respects(d))
	switch {
	case d.Asks.Memory > 0 && d.Asks.Memory > r.memory:
		return shortage{corev1.ResourceMemory, d.Asks.Memory, r.memory}, true
	case d.Asks.MilliCPU > 0 && d.Asks.MilliCPU > r.milliCPU:
		return shortage{corev1.ResourceCPU, d.Asks.MilliCPU, r.milliCPU}, true
	case d.Asks.EphemeralStorage > 0 && d.Asks.EphemeralStorage > r.ephemeral:
		return shortage{corev1.ResourceEphemeralStorage, d.Asks.EphemeralStorage, r.ephemeral}, true
	case r.pods < 1:
		return shortage{corev1.ResourcePods, 1, r.pods}, true
	default:
		return shortage{}, false
	}
}

// free returns what pods of this priority and above that certainly stay on a node leave of an
// extended resource.
func (f *Finder) free(p *place, respects int32, name corev1.ResourceName) int64 {
	free := p.has.Other(name)
	if free > 0 {
		f.holding(p, func(on *snapshot.Demand, priority int32) {
			if priority >= respects {
				free -= on.Holds.Other(name)
			}
		})
	}
	return free
}

// respects is the lowest priority of pods that hold room against this demand:
// those of a lower one can be pushed out
// (pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go).
func respects(d *snapshot.Demand) int32 {
	if d.Patient {
		return math.MinInt32
	}
	return d.Priority
}
