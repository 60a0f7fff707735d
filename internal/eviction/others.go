// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Others of the same run change nodes beside those of a change, and evict pods. Verdicts are about the change
// alone, so that it does not matter which one is made first. Where pods are placed, the changes of all count:
// replacements compete for the same room.

// Does returns what the change of the report is to other changes of the same run.
func (r *Report) Does() *snapshot.Others {
	pods := map[string]map[types.UID]snapshot.Departure{}
	note := func(pod *snapshot.Pod, one snapshot.Departure) {
		if pods[pod.Node] == nil {
			pods[pod.Node] = map[types.UID]snapshot.Departure{}
		}
		pods[pod.Node][pod.UID] = one
	}
	awaited := r.awaited()
	for i := range r.Pods {
		if v := &r.Pods[i]; v.Leaves() || v.Verdict == Unknown {
			note(v.Pod, snapshot.Departure{After: v.AfterSeconds, Unsure: v.Verdict == Unknown, Lost: v.Fails != "", Awaited: awaited(v.Pod)})
		}
	}
	for _, p := range r.Ended {
		note(p.Pod, snapshot.Departure{After: p.After, Unsure: p.Unsure, Lost: true})
	}
	return r.does.And(&snapshot.Others{Evicted: pods})
}

// awaited returns which pods nodes certainly take which the change brings: as many of those that nothing tells apart as there
// are. It does not simulate a change that brings none.
func (r *Report) awaited() func(*snapshot.Pod) bool {
	if !r.brings {
		return func(*snapshot.Pod) bool { return false }
	}
	counted := map[*placement.Group]int{}
	return func(pod *snapshot.Pod) bool {
		g := r.Outcome().Of(pod)
		if g == nil {
			return false
		}
		counted[g]++
		return counted[g] <= g.Brought.Min
	}
}

// does is what the change adds to nodes, and what it takes from them.
func (e *evaluation) does() *snapshot.Others {
	out := &snapshot.Others{Taints: map[string][]corev1.Taint{}, Labels: map[string]map[string]string{}, Closed: map[string]bool{}}
	for _, nodes := range []map[string]bool{e.change.Drains, e.change.Closed} {
		for name, is := range nodes {
			if is {
				out.Closed[name] = true
			}
		}
	}
	for name := range e.change.Taints {
		before, after := e.taints(name)
		added := slices.DeleteFunc(slices.Clone(after), func(t corev1.Taint) bool { return slices.ContainsFunc(before, same(t)) })
		// The taints of a node that is drained are those of the machine that comes instead.
		if len(added) > 0 && !out.Closed[name] {
			out.Taints[name] = added
		}
	}
	for name, after := range e.change.Labels {
		n, known := e.snapshot.Nodes[name]
		if !known {
			continue
		}
		removed := maps.Clone(n.Labels)
		maps.DeleteFunc(removed, func(key, value string) bool {
			next, there := after[key]
			return there && next == value
		})
		if len(removed) > 0 {
			out.Labels[name] = removed
		}
	}
	return out
}

// placing is what nodes look like where pods are placed, and without the change.
func (e *evaluation) placing() placement.Scenario {
	own := placement.Scenario{
		Taints: e.change.Taints, Labels: e.change.Labels, Drained: e.change.Drains, Closed: e.change.Closed, Deleted: e.change.Closed, Turns: e.change.Turns, Comes: e.change.Comes, Leaving: e.leaving, Replaced: e.victim, Ends: e.ending,
	}
	before := placement.Scenario{Replaced: e.victim, Ends: e.endingWithout}
	if !e.snapshot.Others.Empty() {
		before.Leaving = e.leavesElsewhere
		before, own = e.beside(before), e.beside(own)
	}
	own.Before = &before
	return own
}

// finder returns what makes the finder when it is first needed: to count what many others change takes long, and where all
// pods stay none is needed.
func (e *evaluation) finder() func() *placement.Finder {
	return sync.OnceValue(func() *placement.Finder {
		f := placement.New(e.snapshot, e.placing(), e.comparison == ComparisonOn)
		e.finders = append(e.finders, f)
		return f
	})
}

// asked reports whether it was asked what new pods request.
func (e *evaluation) asked() bool { return slices.ContainsFunc(e.finders, (*placement.Finder).Asked) }

// beside adds what others change.
func (e *evaluation) beside(c placement.Scenario) placement.Scenario {
	others := e.snapshot.Others
	taints, labels, closed := maps.Clone(c.Taints), maps.Clone(c.Labels), maps.Clone(c.Closed)
	for name := range others.Taints {
		list, changed := c.Taints[name]
		if n, known := e.snapshot.Nodes[name]; known && !changed {
			list = n.Taints
		}
		taints = with(taints, name, others.Tainted(name, list))
	}
	for name := range others.Labels {
		list, changed := c.Labels[name]
		if n, known := e.snapshot.Nodes[name]; known && !changed {
			list = n.Labels
		}
		labels = with(labels, name, others.Labelled(name, list))
	}
	for name := range others.Closed {
		closed = with(closed, name, true)
	}
	c.Taints, c.Labels, c.Closed = taints, labels, closed
	return c
}

func with[V any](m map[string]V, name string, value V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[name] = value
	return m
}

// leavesElsewhere returns which pods of a node others evict, nil for none.
func (e *evaluation) leavesElsewhere(name string) func(*snapshot.Pod) bool {
	if !e.snapshot.Others.Evicts() || e.snapshot.Others.Evicted[name] == nil {
		return nil
	}
	pods := e.snapshot.Others.Evicted[name]
	return func(pod *snapshot.Pod) bool {
		_, leaves := pods[pod.UID]
		return leaves
	}
}

// elsewhere lists the pods that others evict, but for those that verdicts evict.
func (e *evaluation) elsewhere(verdicts []PodVerdict) []placement.Eviction {
	if !e.snapshot.Others.Evicts() {
		return nil
	}
	own := map[*snapshot.Pod]bool{}
	maps.Copy(own, e.ended)
	for i := range verdicts {
		if v := &verdicts[i]; v.Leaves() || v.Verdict == Unknown {
			own[v.Pod] = true
		}
	}
	evicted := e.snapshot.Others.Evicted
	var left []PodVerdict
	awaited := map[*snapshot.Pod]bool{}
	for _, name := range slices.Sorted(maps.Keys(evicted)) {
		pods := e.snapshot.Pods[name]
		if name == "" {
			// Pending pods of Jobs that fail are deleted as well.
			pods = e.snapshot.Waiting
		}
		for _, pod := range pods {
			gone, leaves := evicted[name][pod.UID]
			if !leaves || own[pod] || pod.Terminating {
				continue
			}
			v := PodVerdict{Pod: pod, Owner: e.snapshot.Owner(pod), Verdict: EvictedAfter, AfterSeconds: gone.After, MayBeLost: mayBeLost(pod)}
			if gone.Unsure {
				v.Verdict = Unknown
			}
			if gone.Lost {
				v.Fails = "its Job"
			}
			left, awaited[pod] = append(left, v), gone.Awaited
		}
	}
	slices.SortFunc(left, func(a, b PodVerdict) int { return a.Pod.Compare(b.Pod) })
	out := e.evictions(left)
	for i := range out {
		out[i].Elsewhere, out[i].Awaited = true, awaited[out[i].Pod]
	}
	return out
}

// without counts the replacements of pods that others evict which are missing without the change.
func (e *evaluation) without(elsewhere []placement.Eviction, orders int) Range {
	evicted := slices.Clone(elsewhere)
	for i := range evicted {
		evicted[i].Elsewhere = evicted[i].Awaited
	}
	before := *e.placing().Before
	return placement.New(e.snapshot, before, e.comparison == ComparisonOn).Simulate(slices.Concat(evicted, e.successors()), orders, seed).Staying
}
