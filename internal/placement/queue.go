// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "container/heap"

// queue holds the pods to place: the highest priority first, then what was created at an earlier
// moment, then the lowest rank
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/queuesort/priority_sort.go).
type queue []queued

// queued is a pod with what decides when its turn comes.
type queued struct {
	*replacement
	since    int64
	rank     int
	priority int32
}

// Len is for package heap, as are Less, Swap, Push and Pop.
func (q queue) Len() int { return len(q) }

// Less reports whether one pod comes before another.
func (q queue) Less(i, j int) bool {
	a, b := &q[i], &q[j]
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.since != b.since {
		return a.since < b.since
	}
	return a.rank < b.rank
}

// Swap exchanges two pods.
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push appends a pod.
func (q *queue) Push(x any) {
	r := x.(*replacement) //nolint:forcetypeassert // Only push calls it.
	*q = append(*q, queued{r, r.since, r.rank, r.class.demand.Priority})
}

// Pop takes the last pod.
func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last].replacement
	*q = (*q)[:last]
	return r
}

func (q *queue) push(r *replacement) { heap.Push(q, r) }

func (q *queue) pop() *replacement { return heap.Pop(q).(*replacement) } //nolint:forcetypeassert // It holds nothing else.

// enqueue queues a pod, or notes that its claims are not there yet: the ephemeral volume controller makes them once the pod
// exists, and for the same name once the old one is deleted
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/volumebinding/volume_binding.go, podHasPVCs).
func (s *simulation) enqueue(r *replacement) {
	if r.pod.Ephemeral && s.claimsLate && !r.waiting && !r.claimed {
		r.claimed = true
		s.unclaimed = append(s.unclaimed, r)
		return
	}
	s.queue.push(r)
}

// claim queues the pods whose claims are there by now, and reports whether there are some.
func (s *simulation) claim() bool {
	some := len(s.unclaimed) > 0
	for _, r := range s.unclaimed {
		s.queue.push(r)
	}
	s.unclaimed = s.unclaimed[:0]
	return some
}

// pass places what is queued. A pod that is placed may be the one that another follows by its
// affinity, or raise the least count of a topology spread: those that found no node are tried again
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/interpodaffinity/plugin.go and
// podtopologyspread/plugin.go, EventsToRegister). So are those that a volume has kept away which did not exist
// yet (volumebinding/volume_binding.go), and those that preempt no pods and for which others have made room.
func (s *simulation) pass() {
	for (s.placeQueued() && s.rules.relate() || s.used.provide() || s.madeRoom()) && !s.exhausted() {
		s.work += len(s.replacements)
		s.freed++
		s.moved++
		s.retry()
	}
}

// placeQueued reports whether it has placed a pod.
func (s *simulation) placeQueued() (placed bool) {
	for {
		for len(s.queue) > 0 || s.claim() {
			placed = s.placeOne(s.queue.pop()) || placed
		}
		s.roomier = s.terminated(lingeringVictims) || s.roomier
		bound, queued := s.bindNominees()
		if placed = placed || bound; !bound && !queued {
			return placed
		}
	}
}

// placeOne binds a pod to a node that takes it, or nominates it for one where it preempts others. It reports whether the pod is bound.
func (s *simulation) placeOne(r *replacement) bool {
	// A pod may have been queued twice: with all others, and by the one before it in its StatefulSet.
	if r.ended || r.node >= 0 {
		return false
	}
	if s.yield(r); s.resumes(r) {
		return false
	}
	node, found := s.find(r)
	if !found {
		if node, found = s.preempt(r); found && s.nominates && r.nominations < enoughNominations {
			r.nominations++
			s.nominate(r, node)
			return false
		}
	}
	if found {
		s.bind(r, node)
	}
	return found
}

// resumes reports whether a nominee that another pod has not seen has its node again. It does so once: a node that takes it no
// more would get it without end.
func (s *simulation) resumes(r *replacement) bool {
	yielded := r.yielded
	r.yielded = false
	return yielded && s.keepNomination(r)
}

// bind puts a pod on a node, and lets its StatefulSet create the next one.
func (s *simulation) bind(r *replacement, node int32) {
	r.node, r.bound, r.delayed = node, s.moment, s.moment > r.since
	r.brought = s.places[node].coming != nil
	// A StatefulSet may have created it since an earlier pod has found such a node.
	r.arrived = r.after < s.stages.opened && (r.brought || r.set != nil && r.since >= s.stages.opened)
	s.add(node, occupant{pod: r.pod, replacement: r})
	s.store(r, node)
	if r.set == nil {
		return
	}
	for _, next := range r.set.pods {
		if next.node < 0 && !next.created && next.after <= s.moment {
			s.create(next)
			return
		}
	}
}
