// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// replaceVictim queues what a controller creates instead of a victim of preemption. Lost reports that its Job fails.
func (s *simulation) replaceVictim(pod *snapshot.Pod, lost bool) {
	e := s.victim(pod)
	if e.Scheduling == nil {
		return
	}
	r := &replacement{
		pod: pod, prefers: s.prefers(pod, e.Scheduling, false), class: s.classOf(pod, e.Scheduling, s.admitted(pod).demand), workload: s.workload(pod), node: -1, name: nameOfPod(pod),
		wait: e.wait(), rank: len(s.replacements), perhaps: e.Doubtful, absent: e.Doubtful && s.unreplaced, fits: !s.unfit[pod], arrived: s.awaiting[pod], denied: s.denials[pod], ended: lost,
	}
	s.due(r, s.moment)
	if e.Ordered {
		s.enlistVictim(r, e.PolicyUnknown)
	}
	s.replacements = append(s.replacements, r)
	if r.after <= s.moment {
		s.create(r)
	}
}

// victim returns the eviction of a pod by preemption. It is the same in all orders.
func (s *simulation) victim(pod *snapshot.Pod) Eviction {
	if s.Finder.change.Replaced == nil {
		return Eviction{Pod: pod, Scheduling: pod.Scheduling}
	}
	e, known := s.victims[pod]
	if !known {
		e = s.Finder.change.Replaced(pod)
		s.victims[pod] = e
	}
	return e
}

// enlistVictim adds the replacement of a victim to its StatefulSet until the order ends. The pods that the
// controller waits for are noted first where the change evicts no pod of the set.
func (s *simulation) enlistVictim(r *replacement, policyUnknown bool) {
	id := r.pod.Controller.UID
	known := s.sets[string(id)] != nil
	if s.enlist(r); r.set == nil || known {
		return
	}
	r.set.policyUnknown = policyUnknown
	for _, one := range s.replacements[:s.fixed] {
		if one.waiting && one.pod.Controller != nil && one.pod.Controller.UID == id {
			s.enlist(one)
		}
	}
	for _, pod := range s.unreadyOf(id) {
		s.awaitOne(pod)
	}
	r.set.sortUnready()
}

// unreadyOf returns the pods of a controller that are not ready, or terminating.
func (s *simulation) unreadyOf(id types.UID) []*snapshot.Pod {
	if s.unready == nil {
		s.unready = map[types.UID][]*snapshot.Pod{}
		note := func(pods []*snapshot.Pod) {
			for _, pod := range pods {
				if pod.Controller != nil && (pod.Terminating || !pod.Ready) {
					s.unready[pod.Controller.UID] = append(s.unready[pod.Controller.UID], pod)
				}
			}
		}
		for _, pods := range s.snapshot.Pods {
			note(pods)
		}
		note(s.snapshot.Waiting)
	}
	return s.unready[id]
}

// dropVictims forgets the replacements of the victims of an order.
func (s *simulation) dropVictims() {
	for _, r := range s.replacements[s.fixed:] {
		if r.set != nil {
			r.set.pods = slices.DeleteFunc(r.set.pods, func(other *replacement) bool { return other == r })
		}
	}
	s.replacements = s.replacements[:s.fixed]
}
