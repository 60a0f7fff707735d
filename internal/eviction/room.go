// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
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
func (e *evaluation) room(p *place, respects int32) *room {
	if e.rooms.parts == nil {
		n := len(e.places) + len(e.change.Comes)
		e.rooms.parts, e.rooms.all = make([]struct{ from, to int }, n), make([]room, 0, 4*n)
	}
	part := &e.rooms.parts[p.index]
	if part.to == 0 {
		part.from = len(e.rooms.all)
		e.count(p)
		part.to = len(e.rooms.all)
	}
	last := part.from
	for i := last + 1; i < part.to && e.rooms.all[i].priority >= respects; i++ {
		last = i
	}
	return &e.rooms.all[last]
}

// count appends what a node has left to all.
func (e *evaluation) count(p *place) {
	has, from := p.has, len(e.rooms.all)
	e.rooms.all = append(e.rooms.all, room{milliCPU: has.MilliCPU, memory: has.Memory, ephemeral: has.EphemeralStorage, pods: has.Pods})
	e.holding(p, func(d *Demand) {
		at := from + 1
		for at < len(e.rooms.all) && e.rooms.all[at].priority > d.Priority {
			at++
		}
		if at == len(e.rooms.all) || e.rooms.all[at].priority != d.Priority {
			e.rooms.all = slices.Insert(e.rooms.all, at, room{priority: d.Priority})
		}
		r := &e.rooms.all[at]
		r.milliCPU -= d.Holds.MilliCPU
		r.memory -= d.Holds.Memory
		r.ephemeral -= d.Holds.EphemeralStorage
		r.pods--
	})
	for i := from + 1; i < len(e.rooms.all); i++ {
		above, r := &e.rooms.all[i-1], &e.rooms.all[i]
		r.milliCPU += above.milliCPU
		r.memory += above.memory
		r.ephemeral += above.ephemeral
		r.pods += above.pods
	}
}

// holding calls add with the demand of each pod that certainly keeps its place on a
// node. The scheduler does not see completed pods (pkg/scheduler/scheduler.go,
// newPodInformer); it does see those that are being deleted, but these will be
// gone, as will be those that leave by this change.
func (e *evaluation) holding(p *place, add func(*Demand)) {
	if p.coming != nil {
		for _, pod := range e.snapshot.Pods[p.coming.Like] {
			if e.snapshot.everywhere(pod) && !pod.Terminating {
				add(pod.demand())
			}
		}
		return
	}
	// Only NoExecute makes a pod leave a node that is not drained.
	evicts, node := false, changedNode{}
	for i := range p.after {
		if p.after[i].Effect == corev1.TaintEffectNoExecute {
			evicts, node = true, e.node(p.node.Name)
			break
		}
	}
	for _, pod := range e.snapshot.Pods[p.node.Name] {
		if pod.Completed || pod.Terminating || e.replaces(pod) || evicts && e.judge(node, pod.Scheduling).goes() {
			continue
		}
		add(pod.demand())
	}
}

// replaces says that the same run changes the pod's workload: a new pod takes its
// place, which may be put elsewhere.
func (e *evaluation) replaces(pod *Pod) bool {
	if len(e.change.Tolerations) == 0 {
		return false
	}
	_, replaced := e.change.Tolerations[WorkloadKey{pod.Namespace, e.snapshot.Owner(pod)}]
	return replaced
}

// shortage is a resource of which a node has too little.
type shortage struct {
	resource    corev1.ResourceName
	needs, free int64
}

// lacks returns the first resource that a pod of this demand would not find on a
// node if it came alone (noderesources/fit.go, fitsRequest). Of several, the
// rarest kind says most. A node that does not tell what it has is taken to have
// enough: its kubelet has not reported yet.
func (e *evaluation) lacks(p *place, d *Demand) (shortage, bool) {
	has := p.has
	if has == nil {
		return shortage{}, false
	}
	for i := range d.Asks.Others {
		ask := d.Asks.Others[i]
		free := has.other(ask.Name)
		if free > 0 {
			e.holding(p, func(on *Demand) {
				if on.Priority >= d.respects() {
					free -= on.Holds.other(ask.Name)
				}
			})
		}
		if ask.Value > free {
			return shortage{ask.Name, ask.Value, free}, true
		}
	}
	r := e.room(p, d.respects())
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
