// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// nodeState is what pods hold of a node.
type nodeState struct {
	// counted is set once it is known, changed once it may differ from what the node holds at the first moment.
	counted, changed bool
	// has is what the node has, nil where it does not report that.
	has                               *snapshot.Resources
	milliCPU, memory, ephemeral, pods int64
	// scoredCPU and scoredMemory are what the node is scored by.
	scoredCPU, scoredMemory int64
	// balanced is how balanced the use of CPU and memory is.
	balanced int64
	// others are in the order in which the node has them.
	others []int64
	holdings
	attachedTo
	// soft is set where the node has soft taints.
	soft bool
	// lowest is the lowest priority of a pod that has ever been there.
	lowest int32
	// placed are the pods that this order has put there, some of them nominees, and those that are leaving.
	placed   []occupant
	nominees int
}

// occupant is a pod on a node: one that was there before, or one that was placed.
type occupant struct {
	pod *snapshot.Pod
	// replacement is set for one that was placed.
	replacement *replacement
	// leaving is set for one that is evicted and has not terminated, victim beside it where preemption has evicted it. nominee
	// is set for one that is bound once others have terminated: its room is taken, and on other nodes it does not count.
	leaving, victim, nominee bool
}

// demand returns what the pod asks for, and what it holds of the node.
func (o occupant) demand() (d *snapshot.Demand, holds *snapshot.Resources) {
	if o.replacement != nil {
		d = o.replacement.class.demand
		return d, &d.Asks
	}
	d = o.pod.Requests()
	return d, &d.Holds
}

// listed reports whether a node has the pod in this order beside those that it had before.
func (o occupant) listed() bool { return o.replacement != nil || o.leaving }

func (o occupant) rules() *snapshot.PodRules { return o.pod.Rules }

// terminating reports whether the pod has not terminated, and is about to.
func (o occupant) terminating() bool { return o.leaving || o.replacement == nil && o.pod.Terminating }

// state returns what a node holds in this order, to be read only.
func (s *simulation) state(i int32) *nodeState {
	n := &s.now[i]
	if !n.counted {
		s.count0(i, n)
	}
	return n
}

// change returns what a node holds in this order, to be changed.
func (s *simulation) change(i int32) *nodeState {
	n := s.state(i)
	if !n.changed {
		s.touched = append(s.touched, touched{i, *n})
		n.changed, n.others, n.holdings, n.attachedTo = true, slices.Clone(n.others), n.copied(), n.clone()
	}
	return n
}

// touched is a node that may differ from the first moment, and what it holds then.
type touched struct {
	node int32
	base nodeState
}

// count0 counts what a node holds once the pods are gone that are evicted immediately.
func (s *simulation) count0(i int32, n *nodeState) {
	p := s.places[i]
	n.counted, n.has, n.soft, n.lowest = true, p.has, len(p.meanwhile().soft) > 0, math.MaxInt32
	if p.has != nil {
		n.others = make([]int64, len(p.has.Others))
	}
	pods := s.snapshot.Pods[p.node.Name]
	if p.coming != nil {
		pods = s.everywhere(p.coming)
	}
	for _, pod := range pods {
		if !pod.Completed && !s.gone(i, pod, 0) {
			n.hold(p, occupant{pod: pod}, 1)
			n.attach(p.limits, s.attachments.of(pod), 1)
		}
	}
	n.weigh(p)
}

// weigh works out anew how balanced the use of a node is.
func (n *nodeState) weigh(p *place) {
	if p.has != nil {
		n.balanced = balance([2]int64{n.milliCPU, n.memory}, [2]int64{p.has.MilliCPU, p.has.Memory})
	}
}

// gone reports whether a pod of a node is gone at a moment.
func (s *simulation) gone(i int32, pod *snapshot.Pod, moment int64) bool {
	if !s.leaves[i] {
		return false
	}
	after, goes := s.evicted[pod]
	return goes && after <= moment
}

// hold counts a pod, or takes it back where n is -1.
func (n *nodeState) hold(p *place, o occupant, times int64) {
	d, holds := o.demand()
	n.milliCPU += times * holds.MilliCPU
	n.memory += times * holds.Memory
	n.ephemeral += times * holds.EphemeralStorage
	n.pods += times
	n.scoredCPU += times * d.ScoredMilliCPU
	n.scoredMemory += times * d.ScoredMemory
	n.lowest = min(n.lowest, d.Priority)
	for i := range holds.Others {
		for j := range n.others {
			if p.has.Others[j].Name == holds.Others[i].Name {
				n.others[j] += times * holds.Others[i].Value
			}
		}
	}
	if rules := o.rules(); rules != nil {
		n.holdings.hold(rules, times)
	}
}

// add puts a pod on a node.
func (s *simulation) add(i int32, o occupant) {
	n := s.change(i)
	n.hold(s.places[i], o, 1)
	n.attach(s.places[i].limits, s.attachments.of(o.pod), 1)
	n.weigh(s.places[i])
	if o.listed() {
		n.placed = append(n.placed, o)
	}
	if o.nominee {
		n.nominees++
	} else {
		s.rules.update(s, i, o, 1)
	}
	s.moved++
}

// remove takes a pod from a node.
func (s *simulation) remove(i int32, o occupant) {
	n := s.change(i)
	n.hold(s.places[i], o, -1)
	n.attach(s.places[i].limits, s.attachments.of(o.pod), -1)
	n.weigh(s.places[i])
	if o.listed() {
		// A pod that was evicted twice from a node is there twice until it has terminated.
		if at := slices.Index(n.placed, o); at >= 0 {
			n.placed = slices.Delete(n.placed, at, at+1)
		}
	}
	if o.nominee {
		n.nominees--
	} else {
		s.rules.update(s, i, o, -1)
	}
	s.freed++
	s.moved++
}

// short returns the first resource of which a node has too little for pods of this demand. It
// is final where the node would have too little while it is empty
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/noderesources/fit.go, fitsRequest).
// A node that does not report what it has is taken to have enough.
func (n *nodeState) short(d *snapshot.Demand) (short shortage, final, lacks bool) {
	has, asks := n.has, &d.Asks
	if has == nil {
		return shortage{}, false, false
	}
	note := func(name corev1.ResourceName, asks, held, has int64) {
		if !lacks {
			short, lacks = shortage{name, asks, has - held}, true
		}
		final = final || asks > has
	}
	for k := range asks.Others {
		ask := asks.Others[k]
		held, all := int64(0), int64(0)
		for j := range has.Others {
			if has.Others[j].Name == ask.Name {
				held, all = n.others[j], has.Others[j].Value
			}
		}
		if ask.Value > all-held {
			note(ask.Name, ask.Value, held, all)
		}
	}
	if asks.Memory > 0 && asks.Memory > has.Memory-n.memory {
		note(corev1.ResourceMemory, asks.Memory, n.memory, has.Memory)
	}
	if asks.MilliCPU > 0 && asks.MilliCPU > has.MilliCPU-n.milliCPU {
		note(corev1.ResourceCPU, asks.MilliCPU, n.milliCPU, has.MilliCPU)
	}
	if asks.EphemeralStorage > 0 && asks.EphemeralStorage > has.EphemeralStorage-n.ephemeral {
		note(corev1.ResourceEphemeralStorage, asks.EphemeralStorage, n.ephemeral, has.EphemeralStorage)
	}
	if n.pods+1 > has.Pods {
		// That a node takes no pods at all is no final answer upstream either.
		note(corev1.ResourcePods, 0, n.pods, has.Pods)
	}
	return short, final, lacks
}

// hasRoom reports whether nothing is short for pods that ask for no extended resource, as short does.
func (n *nodeState) hasRoom(asks *snapshot.Resources) bool {
	has := n.has
	return has == nil || n.pods < has.Pods &&
		(asks.MilliCPU <= 0 || asks.MilliCPU <= has.MilliCPU-n.milliCPU) &&
		(asks.Memory <= 0 || asks.Memory <= has.Memory-n.memory) &&
		(asks.EphemeralStorage <= 0 || asks.EphemeralStorage <= has.EphemeralStorage-n.ephemeral)
}
