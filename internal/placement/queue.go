// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import "container/heap"

// queue holds the pods to place: the highest priority first, then what was created at an earlier
// moment, then the lowest rank
// (k8s.io/kubernetes v1.37.2 pkg/scheduler/framework/plugins/queuesort/priority_sort.go).
type queue []*replacement

// Len is for package heap, as are Less, Swap, Push and Pop.
func (q queue) Len() int { return len(q) }

// Less reports whether one pod comes before another.
func (q queue) Less(i, j int) bool {
	a, b := q[i], q[j]
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
func (q *queue) Push(x any) { *q = append(*q, x.(*replacement)) } //nolint:forcetypeassert // Only push calls it.

// Pop takes the last pod.
func (q *queue) Pop() any {
	last := len(*q) - 1
	r := (*q)[last]
	*q = (*q)[:last]
	return r
}

func (q *queue) push(r *replacement) {
	r.priority = r.class.demand.Priority
	heap.Push(q, r)
}

func (q *queue) pop() *replacement { return heap.Pop(q).(*replacement) } //nolint:forcetypeassert // It holds nothing else.
