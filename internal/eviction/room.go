// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	corev1 "k8s.io/api/core/v1"
)

// room is what a node has left after the change. Negative amounts are possible:
// pods that are bound to a node by hand are not counted beforehand.
type room struct {
	counted                     bool
	milliCPU, memory, ephemeral int64
	pods                        int64
}

// room counts what pods that certainly stay on a node leave for a pod that
// respects pods of this priority. It is counted once for a node, and only for
// nodes that are looked at: to count them all would cost as much as there are
// pods.
func (e *evaluation) room(p *place, respects int32) *room {
	rooms, known := e.rooms[respects]
	if !known {
		rooms = make([]room, len(e.places)+len(e.change.Comes))
		e.rooms[respects] = rooms
	}
	r := &rooms[p.index]
	if r.counted {
		return r
	}
	has := p.node.Allocatable
	*r = room{counted: true, milliCPU: has.MilliCPU, memory: has.Memory, ephemeral: has.EphemeralStorage, pods: has.Pods}
	e.holding(p, respects, func(held *Resources) {
		r.milliCPU -= held.MilliCPU
		r.memory -= held.Memory
		r.ephemeral -= held.EphemeralStorage
		r.pods--
	})
	return r
}

// holding calls add with what each pod holds that certainly keeps its place on a
// node. The scheduler does not see completed pods (pkg/scheduler/scheduler.go,
// newPodInformer); it does see those that are being deleted, but these will be
// gone, as will be those that leave by this change.
func (e *evaluation) holding(p *place, respects int32, add func(*Resources)) {
	if p.coming != nil {
		for _, pod := range e.snapshot.Pods[p.coming.Like] {
			if e.snapshot.everywhere(pod) && !pod.Terminating {
				add(&pod.demand().Holds)
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
		d := pod.demand()
		if pod.Completed || pod.Terminating || d.Priority < respects {
			continue
		}
		if e.replaces(pod) || evicts && e.judge(node, pod.Scheduling).verdict != Stays {
			continue
		}
		add(&d.Holds)
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
	has := p.node.Allocatable
	if has == nil {
		return shortage{}, false
	}
	for i := range d.Asks.Others {
		ask := d.Asks.Others[i]
		free := has.other(ask.Name)
		if free > 0 {
			e.holding(p, d.respects(), func(held *Resources) { free -= held.other(ask.Name) })
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
