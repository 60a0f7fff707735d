// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"cmp"
	"math"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Rollout replaces pods by those of a template that requires other labels of nodes.
type Rollout struct {
	// Pods are those that it replaces.
	Pods    []*snapshot.Pod
	Planned Planned
	// Wants is how many pods the workload is to have, 0 where that is not known. A rollout that is stuck has more.
	Wants int
	// Ordered is set for a StatefulSet that starts its pods one after the other: it deletes no further pod before all
	// of those that it has deleted run again (k8s.io/kubernetes v1.37.2
	// pkg/controller/statefulset/stateful_set_control.go, processReplica).
	Ordered bool
	// Surge and Unavailable are its pace. Unavailable is negative where that is not known: all pods are replaced together.
	Surge, Unavailable int
}

// Size is how many new pods there are once the rollout has ended. Surplus pods are not replaced.
func (o *Rollout) Size() int {
	if o.Wants > 0 {
		return min(o.Wants, len(o.Pods))
	}
	return len(o.Pods)
}

// Rolled is what a rollout comes to.
type Rolled struct {
	// Away are the pods whose bound volumes no node that the template selects can use.
	Away []AwayPod
	// Missing is how many of the new pods no node takes, at least and at most, before the rollout stops, Reason why.
	Missing placement.Range
	Reason  string
}

// AwayPod is a pod that no node takes again because of its volumes, and where these are.
type AwayPod struct {
	Pod   *snapshot.Pod
	Where string
}

// Roll returns the outcome of rollouts that begin together, and how many new pods of all of them no node takes. New pods
// compete for room with the old ones still running on the same nodes: as many as must be available
// (k8s.io/kubernetes v1.37.2 pkg/controller/deployment/rolling.go, reconcileNewReplicaSet and
// reconcileOldReplicaSets). Chance decides which old pods run the longest. The two ends of the range assume
// that old pods on nodes that may take a new pod are deleted first, or last. Chance also decides which
// rollout is ahead of another. The outcome is what happens to other pods, beside the new ones that are missing.
func Roll(s *snapshot.Snapshot, rollouts []Rollout, comparison Comparison) (out []Rolled, missing placement.Range, outcome *placement.Outcome) {
	r := newRolling(s, rollouts, comparison)
	if out = r.away(); r.fitBesideAll() {
		return out, placement.Range{}, &placement.Outcome{}
	}
	best, worst, end := r.progress(true), r.progress(false), r.end()
	for i := range rollouts {
		alone, size := best, rollouts[i].Size()
		if r.free[i] {
			continue
		}
		if len(rollouts) > 1 && max(best.placed[i], worst.placed[i]) < size {
			alone = r.alone(i).progress(true)
		}
		out[i].Missing = placement.Range{Min: size - max(alone.placed[i], worst.placed[i]), Max: size - min(worst.placed[i], end.placed[i])}
		out[i].Reason = cmp.Or(best.reasons[i], worst.reasons[i], end.reasons[i])
		missing.Min, missing.Max = missing.Min+size-best.placed[i], missing.Max+size-worst.placed[i]
	}
	missing.Max = max(missing.Max, end.pending.Max)
	missing.Min = min(max(missing.Min, best.pending.Min), missing.Max)
	return out, missing, r.outcome(best, worst, out, missing)
}

// outcome is what becomes of other pods, whichever old pods go first, and of the new ones.
func (r *rolling) outcome(best, worst stage, rolled []Rolled, missing placement.Range) *placement.Outcome {
	out := placement.Either(placement.Through(best.parts...), placement.Through(worst.parts...))
	var own []placement.WorkloadOutcome
	for i, one := range rolled {
		if pods := r.rollouts[i].Pods; len(pods) > 0 {
			own = append(own, placement.WorkloadOutcome{
				WorkloadKey: r.keyOf(pods[0]), Rolled: true, Pending: one.Missing, Missing: one.Missing, Unplaced: one.Missing, Staying: one.Missing,
				Reason: one.Reason, Brief: cmp.Or(best.briefs[i], worst.briefs[i]),
			})
		}
	}
	out.Rolled(own, missing)
	return out
}

func (r *rolling) keyOf(pod *snapshot.Pod) snapshot.WorkloadKey {
	return snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: r.snapshot.Owner(pod)}
}

// ReportOf is the report of a change that evicts no pod itself, and comes to this outcome all the same.
func ReportOf(outcome func() *placement.Outcome) *Report { return &Report{outcome: outcome} }

// MayPreempt reports whether new pods like these may preempt others: some pod has a lower priority.
func MayPreempt(s *snapshot.Snapshot, pods []*snapshot.Pod) bool {
	highest := int32(math.MinInt32)
	for _, pod := range pods {
		if d := pod.Requests(); !d.Patient {
			highest = max(highest, d.Priority)
		}
	}
	for _, on := range s.Pods {
		if slices.ContainsFunc(on, func(p *snapshot.Pod) bool { return p.Requests().Priority < highest }) {
			return true
		}
	}
	return false
}

// rolling is rollouts that begin together.
type rolling struct {
	*evaluation
	rollouts []Rollout
	// only is the one that makes progress, -1 for all.
	only int
	// free are the rollouts of which nothing is said. See byRevision.
	free []bool
	// next is how the pods that replace those of a scheduling are scheduled, by rollout.
	next []map[*snapshot.Scheduling]*snapshot.Scheduling
}

func newRolling(s *snapshot.Snapshot, rollouts []Rollout, comparison Comparison) *rolling {
	s = s.With(nil, nil)
	ours := map[*snapshot.Pod]bool{}
	for _, one := range rollouts {
		for _, pod := range one.Pods {
			ours[pod] = true
		}
	}
	// They are replaced like the others.
	s.Waiting = slices.DeleteFunc(slices.Clone(s.Waiting), func(p *snapshot.Pod) bool { return ours[p] })
	r := &rolling{evaluation: newEvaluation(s, Scenario{}, comparison), rollouts: rollouts, only: -1}
	for _, one := range rollouts {
		r.next = append(r.next, map[*snapshot.Scheduling]*snapshot.Scheduling{})
		r.free = append(r.free, slices.ContainsFunc(one.Pods, byRevision))
	}
	return r
}

// byRevision reports whether rules of a pod are about pods of its own revision alone, by matchLabelKeys. New pods have
// another revision, whose label no object shows yet: old pods do not keep them away.
func byRevision(pod *snapshot.Pod) bool {
	if pod.Rules == nil {
		return false
	}
	narrowed := func(t snapshot.PodTerm) bool {
		requirements, _ := t.Selector.Requirements()
		return slices.ContainsFunc(requirements, func(one labels.Requirement) bool { return revisions[one.Key()] })
	}
	return slices.ContainsFunc(pod.Rules.Affinity, narrowed) || slices.ContainsFunc(pod.Rules.AntiAffinity, narrowed) ||
		slices.ContainsFunc(pod.Rules.Spread, func(c snapshot.SpreadConstraint) bool {
			return slices.ContainsFunc(c.MatchLabelKeys, func(key string) bool { return revisions[key] })
		})
}

// revisions are the labels by which controllers tell the pods of a template from those of another one.
var revisions = map[string]bool{appsv1.DefaultDeploymentUniqueLabelKey: true, appsv1.ControllerRevisionHashLabelKey: true}

// successorOf is how the pod that replaces one of a rollout is scheduled.
func (r *rolling) successorOf(rollout int, pod *snapshot.Pod) *snapshot.Scheduling {
	known := r.next[rollout][pod.Scheduling]
	if known == nil {
		known = r.rollouts[rollout].Planned.scheduling(pod.Scheduling)
		r.next[rollout][pod.Scheduling] = known
	}
	return r.made(pod, known)
}

// away finds the pods that had a node which can use their volumes, and have none by the new template.
func (r *rolling) away() []Rolled {
	out := make([]Rolled, len(r.rollouts))
	for i := range r.rollouts {
		for _, pod := range r.rollouts[i].Pods {
			if where := r.nodes().Away(pod, r.successorOf(i, pod)); where != "" && r.nodes().Away(pod, pod.Scheduling) == "" {
				out[i].Away = append(out[i].Away, AwayPod{pod, where})
			}
		}
	}
	return out
}

// fitBesideAll reports whether all new pods fit beside all of the old ones, in every order.
func (r *rolling) fitBesideAll() bool {
	var evicted []placement.Eviction
	for i := range r.rollouts {
		for _, pod := range r.inOrder(i, true)[:r.rollouts[i].Size()] {
			evicted = append(evicted, r.surplus(i, pod))
		}
	}
	out := r.nodes().Simulate(evicted, placement.Orders, seed)
	return out.Missing.Max+out.NotCreated.Max+out.Preempted.Max == 0
}

// surplus is a new pod that comes while the one it replaces stands.
func (r *rolling) surplus(rollout int, like *snapshot.Pod) placement.Eviction {
	pod := *like
	pod.Node, pod.Ready, pod.Since, pod.UID, pod.Like = "", false, math.MaxInt64, "", like.UID
	return placement.Eviction{Pod: &pod, Scheduling: r.successorOf(rollout, like), Surplus: true, Next: true}
}

// stage is how far rollouts have come: how many new pods of each are placed, and how many of all are not that are
// to be. Parts are the outcomes of all stages so far.
type stage struct {
	placed          []int
	reasons, briefs []string
	pending         placement.Range
	parts           []*placement.Outcome
}

func (r *rolling) start() stage {
	return stage{placed: make([]int, len(r.rollouts)), reasons: make([]string, len(r.rollouts)), briefs: make([]string, len(r.rollouts))}
}

// alone is one of the rollouts while the others have not begun.
func (r *rolling) alone(rollout int) *rolling {
	one := *r
	one.only = rollout
	return &one
}

// end is what becomes of all new pods once all old ones are gone.
func (r *rolling) end() stage {
	var evicted []placement.Eviction
	at, olds := r.start(), make([][]*snapshot.Pod, len(r.rollouts))
	for i := range r.rollouts {
		olds[i] = r.rollouts[i].Pods
		evicted = append(evicted, r.created(i, olds[i], 0, true)...)
	}
	at.take(r, r.nodes().Simulate(evicted, placement.Orders, seed), olds, false)
	return at
}

// mostStages bounds how often rollouts are looked at: those that still make progress then are taken to come to their end.
const mostStages = 50

// progress follows the rollouts until they stop. The first old pods to go are those on nodes that may take
// a new one, or the last ones.
func (r *rolling) progress(first bool) stage {
	at := r.start()
	olds, moves := make([][]*snapshot.Pod, len(r.rollouts)), make([]bool, len(r.rollouts))
	for i := range r.rollouts {
		olds[i] = r.inOrder(i, first)
	}
	for n := 0; ; n++ {
		var evicted []placement.Eviction
		for i := range r.rollouts {
			if r.only >= 0 && r.only != i {
				continue
			}
			evicted = append(evicted, r.created(i, olds[i], at.placed[i], n >= mostStages && moves[i])...)
		}
		out := r.nodes().Simulate(evicted, placement.Orders, seed)
		before := slices.Clone(at.placed)
		at.take(r, out, olds, first)
		if slices.Equal(before, at.placed) || n >= mostStages {
			return at
		}
		for i := range moves {
			moves[i] = at.placed[i] > before[i]
		}
	}
}

// inOrder returns the old pods in the order in which they go: those first that run nowhere, a StatefulSet's from the last
// to the first, and others that are not ready before those that are (k8s.io/kubernetes v1.37.2
// pkg/controller/controller_utils.go, ActivePodsWithRanks).
func (r *rolling) inOrder(rollout int, first bool) []*snapshot.Pod {
	pods := slices.Clone(r.rollouts[rollout].Pods)
	rank := func(p *snapshot.Pod) int {
		takes := r.takesNew(rollout, p)
		switch {
		case p.Node == "":
			return math.MinInt
		case r.snapshot.Owner(p).StatefulSet():
			_, ordinal, _ := snapshot.Ordinal(p.Name)
			return -ordinal
		case !p.Ready:
			return math.MinInt + 1
		case takes == first:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(pods, func(a, b *snapshot.Pod) int { return cmp.Compare(rank(a), rank(b)) })
	return pods
}

// takesNew reports whether the node of an old pod may take a new one, once it has room.
func (r *rolling) takesNew(rollout int, old *snapshot.Pod) bool {
	n, known := r.snapshot.Nodes[old.Node]
	if !known {
		return false
	}
	next, gate := r.successorOf(rollout, old), r.comparison == ComparisonOn
	return r.nodes().Selects(next, n.Name, n.Labels) && placement.UntoleratedTaint(next.Tolerations, n.Taints, gate) == nil &&
		(!n.Unschedulable || next.ToleratesCordon(gate))
}

// created returns the old pods that are gone once so many new ones are available, and the new ones that may be created
// by then.
func (r *rolling) created(rollout int, olds []*snapshot.Pod, placed int, end bool) []placement.Eviction {
	one := &r.rollouts[rollout]
	gone, next := one.pace(olds, placed, len(olds) > 0 && r.snapshot.Owner(olds[0]).StatefulSet())
	if one.Unavailable < 0 || end {
		gone, next = len(olds), one.Size()
	}
	var out []placement.Eviction
	for i, pod := range olds[:gone] {
		e := placement.Eviction{Pod: pod, Ended: true}
		if i < next {
			e.Scheduling, e.Next = r.successorOf(rollout, pod), true
		}
		out = append(out, e)
	}
	for _, pod := range olds[gone:max(gone, next)] {
		out = append(out, r.surplus(rollout, pod))
	}
	return out
}

// pace is how many old pods are gone once so many new ones are available, and how many new ones may be created by then.
// Old pods beyond the wanted number go first, and old and new ones together are never more than that and the surge. A
// pod that a ReplicaSet is to have and has not counts as an old one that goes first. A StatefulSet deletes all that run
// nowhere.
func (o *Rollout) pace(olds []*snapshot.Pod, placed int, statefulSet bool) (gone, next int) {
	wants, absent, waiting := o.Size(), 0, 0
	switch {
	case statefulSet:
		for waiting < len(olds) && olds[waiting].Node == "" {
			waiting++
		}
		if o.Ordered && o.Unavailable > 0 {
			placed -= placed % o.Unavailable
		}
	case o.Wants > 0:
		wants, absent = o.Wants, max(0, o.Wants-len(olds))
	}
	old := len(olds) + absent
	left := min(old, max(placed+o.Unavailable+old-wants, waiting))
	return max(0, left-absent), min(o.Size(), wants+o.Surge-(old-left))
}

// take notes what a simulation has placed, the most of any order, or the least. Pods that new ones preempt are not
// those of rollouts.
func (at *stage) take(r *rolling, out *placement.Outcome, olds [][]*snapshot.Pod, most bool) {
	at.pending, at.parts = placement.Range{}, append(at.parts, out)
	for i := range r.rollouts {
		if len(olds[i]) == 0 {
			continue
		}
		key := r.keyOf(olds[i][0])
		for j := range out.Workloads {
			w := &out.Workloads[j]
			if w.WorkloadKey != key {
				continue
			}
			placed := w.Placed.Min
			if most {
				placed = w.Placed.Max
			}
			at.placed[i], at.reasons[i], at.briefs[i] = max(at.placed[i], min(placed, r.rollouts[i].Size())), w.Reason, w.Brief
			if !r.free[i] {
				at.pending.Min, at.pending.Max = at.pending.Min+w.Missing.Min, at.pending.Max+w.Missing.Max
			}
		}
	}
	at.pending.Max = min(at.pending.Max, out.Missing.Max)
	if out.Preempted.Max == 0 && !slices.Contains(r.free, true) {
		// All of them are of rollouts, and which rollout has one does not matter.
		at.pending = placement.Range{Min: out.Missing.Min, Max: out.Missing.Max}
	}
}
