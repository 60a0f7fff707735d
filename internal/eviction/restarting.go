// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Restarting is a workload whose pods the same run restarts. A new pod may be placed on a node of the change before the
// change comes, which then evicts it as well: the scheduler decides that, and no plan can know.
type Restarting struct {
	snapshot.WorkloadKey
	// Pods is how many pods that the change does not evict where they are now may be placed there.
	Pods int
}

// Restarted returns whose pods the changes of others may evict because a run restarts them by planned tolerations, sorted by
// workload.
func Restarted(s *snapshot.Snapshot, others *snapshot.Others, planned map[snapshot.WorkloadKey]Planned, comparison Comparison) []Restarting {
	if others.Empty() || len(planned) == 0 {
		return nil
	}
	change := Scenario{Tolerations: planned, Drains: others.Closed}
	for name := range others.Taints {
		if n, known := s.Nodes[name]; known {
			change.Taints = with(change.Taints, name, others.Tainted(name, n.Taints))
		}
	}
	return newEvaluation(s, change, comparison).restarting(func(pod *snapshot.Pod) bool {
		_, is := others.Evicted[pod.Node][pod.UID]
		return is
	})
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
	if len(e.change.Tolerations) == 0 {
		return nil
	}
	nodes := e.evicting()
	var out []Restarting
	for key, change := range e.change.Tolerations {
		if !change.Restarts || key.DaemonSet() {
			// New pods of a DaemonSet are created on the nodes of the old ones.
			continue
		}
		one, known := Restarting{WorkloadKey: key}, map[*snapshot.Scheduling]bool{}
		for _, pod := range e.snapshot.WorkloadPods(key) {
			may, seen := known[pod.Scheduling]
			if !seen || hasVolumes(pod) {
				next := *pod.Scheduling
				next.Tolerations, next.NodeSelector = change.OfPod(next.Tolerations), change.selector(next.NodeSelector)
				may = slices.ContainsFunc(nodes, func(n changedNode) bool { return e.mayMeet(n, pod, e.made(pod, &next)) })
				known[pod.Scheduling] = may
			}
			if may && !evicted(pod) {
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

// mayMeet reports whether the new pod of a scheduling fits a node as it is before the change, however little room is left
// there, and may be evicted by the change.
func (e *evaluation) mayMeet(n changedNode, pod *snapshot.Pod, next *snapshot.Scheduling) bool {
	gate, node := e.comparison == ComparisonOn, e.snapshot.Nodes[n.name]
	switch {
	case n.drained:
		if !e.selects(pod) {
			return false
		}
	case e.judge(n, next).verdict == Stays:
		return false
	}
	return (!node.Unschedulable || next.ToleratesCordon(gate)) && placement.UntoleratedTaint(next.Tolerations, n.before, gate) == nil && e.nodes().Matches(pod, next, node)
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
