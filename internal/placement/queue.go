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
