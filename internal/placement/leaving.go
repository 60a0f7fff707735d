// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"

// placedPod is a pod on a node.
type placedPod struct {
	node int32
	pod  *snapshot.Pod
}

// leave notes when a pod is gone from its node.
func (s *simulation) leave(pod *snapshot.Pod, after int64) {
	s.evicted[pod] = after
	if p, there := s.byName[pod.Node]; there {
		s.leaves[p.index] = true
	}
}

// gone is the moment at which the pod is gone. That of an arrival stays where it is.
func (e *Eviction) gone() int64 {
	if e.successor() {
		return terminatingGone
	}
	return max(e.After, 0)
}

// successor reports whether the pod is terminating already, whatever the change.
func (e *Eviction) successor() bool { return e.Pod.Terminating && !e.Arrives }

// terminate lets pods go that are terminating already.
func (s *simulation) terminate() {
	for _, pods := range s.snapshot.Pods {
		for _, pod := range pods {
			if pod.Terminating && !pod.Completed {
				s.leave(pod, terminatingGone)
				if pod.Overdue {
					s.overdue = append(s.overdue, pod)
				}
			}
		}
	}
}

// hold lets pods that are beyond their grace period stay in every other order: a finalizer, a volume that is not
// detached, or a kubelet that is gone may hold them up for good, and so long they keep their room
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/backend/cache/cache.go: a pod counts until its object is gone).
func (s *simulation) hold(order int) {
	for _, pod := range s.overdue {
		if s.evicted[pod] = terminatingGone; order%2 == 1 {
			s.evicted[pod] = kept
		}
	}
}

// doubt notes the pods that the Change lets leave and that are not evicted: they may be gone before the
// replacements come, since a countdown ends or the same run replaces them, or not.
func (s *simulation) doubt() {
	if s.Finder.change.Leaving == nil {
		return
	}
	for i, p := range s.places {
		leaving := s.Finder.change.Leaving(p.node.Name)
		if leaving == nil {
			continue
		}
		for _, pod := range s.snapshot.Pods[p.node.Name] {
			if _, evicted := s.evicted[pod]; !evicted && s.isUndecided[pod] == nil && !pod.Completed && !pod.Mirror && leaving(pod) {
				s.unsure = append(s.unsure, placedPod{int32(i), pod})
			}
		}
	}
}

func (s *simulation) momentSet() map[int64]bool {
	moments := map[int64]bool{0: true}
	for _, after := range s.evicted {
		moments[after] = true
	}
	return moments
}
