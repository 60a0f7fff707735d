// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// statefulSet is one that creates its pods one after the other.
type statefulSet struct {
	pods []*replacement
	// unready are pods that are there and that its controller waits for, sorted by ordinal.
	unready []unreadyPod
	// highest is the highest ordinal of a pod that is there and not terminating.
	highest int
	// policyUnknown is set where it may create its pods in parallel.
	policyUnknown bool
}

// unreadyPod is a pod that is not ready or terminating, until it is gone.
type unreadyPod struct {
	pod     *snapshot.Pod
	ordinal int
	until   int64
}

// before returns the first pod that is there and that the controller of a pod's set waits for before it creates the pod, nil
// for none. It does not wait for one that this order has evicted, where what replaces that one is known: this is waited for.
func (s *simulation) before(r *replacement) *snapshot.Pod {
	for _, one := range r.set.unready {
		if one.ordinal < r.ordinal && s.moment < one.until && (!s.isPreempted[one.pod] || !r.set.replaces(one.pod)) {
			return one.pod
		}
	}
	return nil
}

// replaces reports whether one of the set's pods to place replaces a pod. That of a terminating one comes once it is gone.
func (s *statefulSet) replaces(pod *snapshot.Pod) bool {
	return !pod.Terminating && slices.ContainsFunc(s.pods, func(r *replacement) bool { return r.pod == pod })
}

// waits reports whether the controller of a StatefulSet does not create a pod yet: one before it is
// missing, not ready or terminating, unless it creates them in parallel
// (k8s.io/kubernetes v1.37.2 pkg/controller/statefulset/stateful_set_control.go, processReplica).
func (s *simulation) waits(r *replacement) bool {
	if r.set == nil || r.waiting || s.parallel && r.set.policyUnknown {
		return false
	}
	return s.before(r) != nil || slices.ContainsFunc(r.set.pods, func(earlier *replacement) bool {
		return earlier.ordinal < r.ordinal && earlier.node < 0 && earlier.evicted <= s.moment
	})
}

// behind notes what a replacement waits for that its StatefulSet does not create.
func (s *simulation) behind(r *replacement, w *tally) {
	if r.group == nil || r.set == nil {
		return
	}
	first := r
	if pending := r.set.pending(); pending != nil {
		first = pending
	}
	if r.node >= 0 || first != r {
		r.group.Awaits = s.stuck(first).awaits
	}
	r.group.Behind, r.group.PolicyUnknown = s.before(r), r.set.policyUnknown
	w.PolicyUnknown = w.PolicyUnknown || r.set.policyUnknown
}

// pending is the pod that the later ones wait for, nil for none.
func (s *statefulSet) pending() *replacement {
	at := slices.IndexFunc(s.pods, func(r *replacement) bool { return r.created && r.node < 0 })
	if at < 0 {
		return nil
	}
	return s.pods[at]
}

// enlist adds a pod to its StatefulSet.
func (s *simulation) enlist(r *replacement) {
	_, ordinal, ok := snapshot.Ordinal(r.pod.Name)
	if !ok {
		return
	}
	key := string(r.pod.Controller.UID)
	if s.sets[key] == nil {
		s.sets[key] = &statefulSet{}
	}
	r.set, r.ordinal = s.sets[key], ordinal
	r.set.pods = append(r.set.pods, r)
	slices.SortFunc(r.set.pods, func(a, b *replacement) int { return a.ordinal - b.ordinal })
}

// await notes the pods that are there and that keep the controllers of sets from creating others. Those
// that are gone before the first moment do not, nor do those that wait for a node: they are of the
// set's replacements, unless no scheduler may place them.
func (s *simulation) await() {
	if len(s.sets) == 0 {
		return
	}
	for _, pods := range s.snapshot.Pods {
		for _, pod := range pods {
			s.awaitOne(pod)
		}
	}
	for _, pod := range s.snapshot.Waiting {
		s.awaitOne(pod)
	}
	for _, set := range s.sets {
		set.sortUnready()
	}
}

func (s *statefulSet) sortUnready() {
	slices.SortFunc(s.unready, func(a, b unreadyPod) int { return a.ordinal - b.ordinal })
}

func (s *simulation) awaitOne(pod *snapshot.Pod) {
	if pod.Controller == nil || pod.Completed {
		return
	}
	set, until := s.sets[string(pod.Controller.UID)], int64(math.MaxInt64)
	_, ordinal, ok := snapshot.Ordinal(pod.Name)
	if set == nil || !ok {
		return
	}
	if !pod.Terminating {
		set.highest = max(set.highest, ordinal)
		if pod.Ready || pod.Node == "" && !pod.Gated {
			return
		}
	}
	if after, goes := s.evicted[pod]; goes {
		until = after
	}
	set.unready = append(set.unready, unreadyPod{pod, ordinal, until})
}

// doubtful reports whether nothing may be created instead of a pod that is terminating: its controller may
// be deleted or scaled down. It is not where a later pod of its set stays.
func (r *replacement) doubtful() bool {
	return r.successor && (r.set == nil || r.ordinal >= r.set.highest)
}
