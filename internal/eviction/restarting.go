// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Restarting is a workload whose pods the same run restarts. A new pod may be placed on a node of the change before the
// change comes, which then evicts it as well: the scheduler decides that.
type Restarting struct {
	snapshot.WorkloadKey
	// Pods is how many pods that the change does not evict where they are now may be placed there.
	Pods int
}

// Restarted returns whose pods the changes of others may evict because a run restarts them by planned tolerations, sorted by
// workload, and the names of the nodes of these changes, sorted.
func Restarted(s *snapshot.Snapshot, others *snapshot.Others, planned map[snapshot.WorkloadKey]Planned, comparison Comparison) (restarting []Restarting, nodes []string) {
	if others.Empty() || len(planned) == 0 {
		return nil, nil
	}
	change := Scenario{Tolerations: planned, Drains: others.Closed}
	for name := range others.Taints {
		if n, known := s.Nodes[name]; known {
			change.Taints = with(change.Taints, name, others.Tainted(name, n.Taints))
		}
	}
	e := newEvaluation(s, change, comparison)
	for _, n := range e.evicting() {
		nodes = append(nodes, n.name)
	}
	return e.restarting(func(pod *snapshot.Pod) bool {
		_, is := others.Evicted[pod.Node][pod.UID]
		return is
	}), nodes
}

// set reports whether a pod is one of these.
func set(pods []*snapshot.Pod) func(*snapshot.Pod) bool {
	in := make(map[*snapshot.Pod]bool, len(pods))
	for _, p := range pods {
		in[p] = true
	}
	return func(p *snapshot.Pod) bool { return in[p] }
}

// restarting returns the workloads with pods that may be placed on a node before the change and be evicted by it, without
// those that are evicted where they are.
func (e *evaluation) restarting(evicted func(*snapshot.Pod) bool) []Restarting {
	if !slices.ContainsFunc(slices.Collect(maps.Values(e.change.Tolerations)), func(p Planned) bool { return p.Restarts }) {
		return nil
	}
	nodes := e.evicting()
	if len(nodes) == 0 {
		return nil
	}
	var out []Restarting
	for key, change := range e.change.Tolerations {
		if !change.Restarts || key.DaemonSet() {
			// New pods of a DaemonSet are created on the nodes of the old ones.
			continue
		}
		one, mayBeEvicted := Restarting{WorkloadKey: key}, e.mayBeEvicted(change, nodes)
		for _, pod := range e.snapshot.PodsByWorkload()[key] {
			if !evicted(pod) && (change.Keeps == nil || !change.Keeps(pod.Name)) && mayBeEvicted(pod) {
				one.Pods++
			}
		}
		if one.Pods > 0 {
			out = append(out, one)
		}
	}
	slices.SortFunc(out, func(a, b Restarting) int { return a.Compare(b.WorkloadKey) })
	return out
}

// mayBeEvicted returns whether the new pod of one that restarts may be evicted from one of the nodes. Pods of a scheduling that
// have no volumes share the answer.
func (e *evaluation) mayBeEvicted(change Planned, nodes []changedNode) func(*snapshot.Pod) bool {
	type successor struct {
		scheduling *snapshot.Scheduling
		nodes      []changedNode
		evicted    bool
	}
	known := map[*snapshot.Scheduling]*successor{}
	return func(pod *snapshot.Pod) bool {
		one, seen := known[pod.Scheduling]
		if !seen {
			one = &successor{scheduling: e.made(pod, change.scheduling(pod.Scheduling))}
			for _, n := range nodes {
				if e.evicts(n, pod, one.scheduling) {
					one.nodes = append(one.nodes, n)
				}
			}
			one.evicted = e.matchesAny(pod, one.scheduling, one.nodes)
			known[pod.Scheduling] = one
		} else if hasVolumes(pod) {
			return e.matchesAny(pod, one.scheduling, one.nodes)
		}
		return one.evicted
	}
}

// matchesAny reports whether one of the nodes has what a pod requires of it.
func (e *evaluation) matchesAny(pod *snapshot.Pod, s *snapshot.Scheduling, nodes []changedNode) bool {
	if len(nodes) == 0 {
		return false
	}
	matches := e.nodes().Matching(pod, s)
	return slices.ContainsFunc(nodes, func(n changedNode) bool { return matches(e.snapshot.Nodes[n.name]) })
}

// evicting returns the nodes on which the change may evict pods.
func (e *evaluation) evicting() []changedNode {
	var out []changedNode
	for _, name := range e.names() {
		n := e.node(name)
		if _, known := e.snapshot.Nodes[name]; known && (n.drained || e.judge(n, &snapshot.Scheduling{}).leaves()) {
			out = append(out, n)
		}
	}
	return out
}

// evicts reports whether taints and cordon of a node let a new pod of a scheduling in before the change, and the change may
// evict it.
func (e *evaluation) evicts(n changedNode, pod *snapshot.Pod, next *snapshot.Scheduling) bool {
	if n.drained && !e.selects(pod) || !n.drained && e.judge(n, next).verdict == Stays {
		return false
	}
	gate := e.comparison == ComparisonOn
	cordoned := e.snapshot.Nodes[n.name].Unschedulable && !next.ToleratesCordon(gate)
	return !cordoned && placement.UntoleratedTaint(next.Tolerations, n.before, gate) == nil
}

// joinRestarting joins those of changes that follow each other: pods may be placed on nodes of each.
func joinRestarting(a, b []Restarting) []Restarting {
	out := slices.Clone(a)
	for _, one := range b {
		at := slices.IndexFunc(out, func(r Restarting) bool { return r.WorkloadKey == one.WorkloadKey })
		if at < 0 {
			out = append(out, one)
		} else {
			out[at].Pods = max(out[at].Pods, one.Pods)
		}
	}
	slices.SortFunc(out, func(a, b Restarting) int { return a.Compare(b.WorkloadKey) })
	return out
}
