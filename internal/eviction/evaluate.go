// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// Evaluate gives a verdict for every pod on the nodes of the change, sorted by
// node, namespace and name. Its cost grows with these pods and with the number
// of nodes, not with the pods elsewhere.
func Evaluate(s *snapshot.Snapshot, change Scenario, comparison Comparison) *Report {
	return newEvaluation(s, change, comparison).report()
}

func (e *evaluation) report() *Report {
	s, names := e.snapshot, e.names()
	count := 0
	for _, name := range names {
		count += len(s.Pods[name])
	}
	report := &Report{Pods: make([]PodVerdict, 0, count), Nodes: names, Gaps: s.Gaps, Deletes: e.change.Deletes, does: e.does(), brings: len(e.change.Comes) > 0}
	for _, name := range names {
		start := len(report.Pods)
		node := e.node(name)
		report.unread = report.unread || s.Only != nil && !s.Only[name]
		for _, pod := range s.Pods[name] {
			report.Pods = append(report.Pods, e.verdict(node, pod))
		}
		slices.SortFunc(report.Pods[start:], func(a, b PodVerdict) int { return a.Pod.Compare(b.Pod) })
	}
	e.failJobs(report)
	report.crowding = e.crowds(report)
	report.unreadElsewhere = e.unreadElsewhere(report)
	e.coverByBudgets(report.Pods)
	e.simulating(report)
	report.Restarting = e.restarting(set(report.Evicted()))
	report.elsewhere, report.places = e.snapshot.Others.Evicts(), e.asked()
	return report
}

// names returns the names of the changed nodes, sorted.
func (e *evaluation) names() []string {
	names := slices.AppendSeq(slices.Collect(maps.Keys(e.change.Taints)), maps.Keys(e.change.Drains))
	names = slices.AppendSeq(names, maps.Keys(e.change.Labels))
	slices.Sort(names)
	return slices.Compact(names)
}

func newEvaluation(s *snapshot.Snapshot, change Scenario, comparison Comparison) *evaluation {
	e := &evaluation{
		snapshot: s, change: change, comparison: comparison,
		judgements: map[judgeKey]judgement{}, groups: map[string]int{}, replaced: map[plannedKey]*snapshot.Scheduling{},
		admitted: admitted{}, daemons: newDaemons(),
	}
	e.nodes = e.finder()
	return e
}

type judgeKey struct {
	group       int
	tolerations listKey
}

// listKey is a list of tolerations by where it is kept: equal lists are shared.
type listKey struct {
	first *corev1.Toleration
	count int
}

func keyOf(list []corev1.Toleration) listKey {
	if len(list) == 0 {
		return listKey{}
	}
	return listKey{&list[0], len(list)}
}

type evaluation struct {
	snapshot   *snapshot.Snapshot
	change     Scenario
	comparison Comparison
	// judgements are shared by pods with the same tolerations on nodes with the
	// same taints before and after; groups numbers these nodes.
	judgements map[judgeKey]judgement
	groups     map[string]int
	// replaced are the schedulings that pods get by planned tolerations.
	replaced map[plannedKey]*snapshot.Scheduling
	admitted admitted
	// jobs are the pods of Jobs that the change evicts, or may evict.
	jobs map[types.UID]*jobPods
	daemons
	// ended are the pods that failed Jobs delete, or may delete.
	ended map[*snapshot.Pod]bool
	// nodes finds places for the pods that replace those that leave. It is made when it is first needed. finders are those
	// that were made.
	nodes   func() *placement.Finder
	finders []*placement.Finder
}

// changedNode is a node of the change, looked up once for all of its pods.
type changedNode struct {
	name          string
	before, after []corev1.Taint
	group         int
	tainted       bool
	drained       bool
	undrained     bool
	// labels are those before the change, newLabels those after it where it changes
	// them.
	labels, newLabels map[string]string
	relabelled        bool
}

func (e *evaluation) node(name string) changedNode {
	before, after := e.taints(name)
	n := changedNode{name: name, before: before, after: after, group: e.group(before, after), drained: e.change.Drains[name], undrained: e.change.Undrained[name]}
	if known, ok := e.snapshot.Nodes[name]; ok {
		n.labels = known.Labels
	}
	_, n.tainted = e.change.Taints[name]
	n.newLabels, n.relabelled = e.change.Labels[name]
	return n
}

func (e *evaluation) verdict(node changedNode, pod *snapshot.Pod) PodVerdict {
	owner := e.snapshot.Owner(pod)
	scheduling, change, planned := e.planned(pod, owner)
	without := basis{pod.Scheduling, e.daemon(pod, nil)}
	if !planned {
		return e.outcome(node, pod, owner, without)
	}
	with := basis{scheduling, e.daemon(pod, change)}
	if change.Sure {
		return e.outcome(node, pod, owner, with)
	}
	return hedge(e.outcome(node, pod, owner, without), e.outcome(node, pod, owner, with))
}

// basis is what a pod is judged by: the scheduling that it has or will have, and the
// template of its DaemonSet, nil for none.
type basis struct {
	scheduling, template *snapshot.Scheduling
}

// outcome is the verdict on a pod by what may not be its own.
func (e *evaluation) outcome(node changedNode, pod *snapshot.Pod, owner snapshot.Owner, by basis) PodVerdict {
	v := PodVerdict{Pod: pod, Owner: owner, Verdict: Stays}
	switch {
	case pod.Terminating:
		v.Reason = "is already being deleted, with or without this change"
		return v
	case node.drained:
		e.drain(&v, node)
	default:
		e.taintEviction(&v, node, by)
	}
	// The successor of a DaemonSet pod is made of the template.
	next := e.made(pod, by.scheduling)
	if by.template != nil {
		next = e.successor(by.template, pod.Node)
	} else if v.Leaves() && !pod.Completed {
		v.Reason += given(by.scheduling, next)
	}
	if v.Leaves() {
		e.consequences(&v, next)
	} else {
		e.placement(&v, node, next)
	}
	e.strand(&v, node, by)
	return v
}

// taintEviction records the effect of the taint-eviction controller and, for a pod of a DaemonSet,
// of the DaemonSet controller.
func (e *evaluation) taintEviction(v *PodVerdict, node changedNode, by basis) {
	if node.tainted {
		j := e.judge(node, by.scheduling)
		v.Verdict, v.Doubt, v.AfterSeconds, v.Taint, v.Toleration, v.Reason = j.verdict, j.doubt, j.seconds, j.taint, j.toleration, j.reason
	}
	if by.template != nil {
		e.daemonSetDeletion(v, node, by.template)
	}
}

// drain follows kubectl's drain, which the Machine API uses as well: every pod
// but those of DaemonSets and mirror pods, whatever it tolerates
// (k8s.io/kubectl v0.37.1 pkg/drain/filters.go).
func (e *evaluation) drain(v *PodVerdict, node changedNode) {
	removes := "evict"
	if e.change.Deletes {
		removes = "delete"
	}
	switch {
	case v.Pod.Mirror:
		v.Reason = "is the mirror pod of a static pod, which a drain does not " + removes
	case e.snapshot.RunsOnEveryNode(v.Pod):
		v.Reason = "is a DaemonSet pod, which a drain does not " + removes
	case !e.selects(v.Pod):
		v.Reason = "is not matched by the pod selector, so the drain leaves it"
	case node.undrained:
		v.Verdict, v.Reason = Drained, "its machine is deleted without a drain"
	case e.change.Deletes:
		v.Verdict, v.Reason = Drained, "its node is drained by deleting pods"
	default:
		v.Verdict, v.Reason = Drained, "its node is drained"
	}
}

// selects reports whether the drains of the change consider a pod.
func (e *evaluation) selects(pod *snapshot.Pod) bool {
	return e.change.Selects == nil || e.change.Selects(pod)
}

// consequences fills in the consequences of evicting a pod.
func (e *evaluation) consequences(v *PodVerdict, s *snapshot.Scheduling) {
	switch {
	case v.Pod.Completed:
		v.Reason += "; it has completed, and only its Pod object is deleted"
		return
	case v.Pod.Mirror:
		v.Reason += "; the kubelet recreates the mirror pod"
		return
	case v.Pod.Controller == nil:
		v.Lost = true
		v.Reason += "; no controller recreates it"
	default:
		v.uncertain()
	}
	if v.Owner.DaemonSet() {
		if v.NoPlace = !e.nodes().Fits(v.Pod, s); v.NoPlace {
			v.Reason += "; not recreated until the node's taints and labels allow it"
		}
	} else if len(s.Forbidden) > 0 && !v.Lost {
		v.NoPlace = true
		v.Reason += "; not recreated: " + placement.Forbidden(v.Pod, s)
	}
}

// placement reports what a change does to pods that stay: those that could not
// be put there again, by the taints that the change brings.
func (e *evaluation) placement(v *PodVerdict, node changedNode, s *snapshot.Scheduling) {
	switch {
	case v.Pod.Completed || v.Pod.Mirror:
		return
	case v.Pod.NamesNode:
		// No taint keeps a new one away, and the kubelet asks for the labels.
		e.unselected(v, node, s)
		return
	}
	gate := e.comparison == ComparisonOn
	away := placement.UntoleratedTaint(s.Tolerations, node.after, gate)
	v.OtherNodes = away != nil && !v.Owner.DaemonSet()
	if away == nil || placement.UntoleratedTaint(s.Tolerations, node.before, gate) != nil {
		e.unselected(v, node, s)
		return
	}
	if v.Verdict == Stays {
		v.Taint, v.Toleration = away, nil
		v.Reason = "stays, but does not tolerate " + taint.Format(*away) + " and could not be scheduled on this node again"
		if node.drained {
			v.Reason = "is not evicted by the drain, but does not tolerate " + taint.Format(*away) + ": the new machines get no such pod"
		} else if j := e.judge(node, v.Pod.Scheduling); j.untouched {
			v.Reason += "; " + j.reason
		}
	}
	if v.Owner.DaemonSet() {
		if v.Misscheduled = true; !node.drained {
			v.Reason += "; its DaemonSet counts it as mis-scheduled"
		}
	} else if v.Verdict == Stays {
		e.again(v, s)
	}
	if e.comparison == ComparisonUnknown && placement.UntoleratedTaint(s.Tolerations, node.after, true) == nil {
		v.Reason += ", unless the feature gate TaintTolerationComparisonOperators is on"
	}
}

// unselected reports pods that stay on a node whose labels they require and which loses
// them. Of a DaemonSet's pods its controller takes care.
func (e *evaluation) unselected(v *PodVerdict, node changedNode, s *snapshot.Scheduling) {
	if !node.relabelled || v.Verdict != Stays || v.Owner.DaemonSet() ||
		!e.nodes().Selects(s, node.name, node.labels) || e.nodes().Selects(s, node.name, node.newLabels) {
		return
	}
	v.Reason = "stays, but requires labels that its node does not have any more, and could not be scheduled on this node again"
	v.OtherNodes = true
	e.again(v, s)
}

// again reports whether another node would take a pod that its own would not take again.
func (e *evaluation) again(v *PodVerdict, s *snapshot.Scheduling) {
	if v.NoPlace = !e.nodes().Fits(v.Pod, s); v.NoPlace {
		v.Reason += ", nor on any other" + e.nodes().Obstacles(v.Pod, s)
	}
}

// taints returns a node's taints before and after the change.
func (e *evaluation) taints(node string) (before, after []corev1.Taint) {
	if n, ok := e.snapshot.Nodes[node]; ok {
		before = n.Taints
	}
	if changed, ok := e.change.Taints[node]; ok {
		return before, changed
	}
	return before, before
}

func (e *evaluation) judge(node changedNode, s *snapshot.Scheduling) judgement {
	key := judgeKey{node.group, keyOf(s.Tolerations)}
	j, known := e.judgements[key]
	if !known {
		j = judge(s.Tolerations, node.before, node.after, e.comparison)
		e.judgements[key] = j
	}
	return j
}

// group numbers the pairs of taint lists that occur.
func (e *evaluation) group(before, after []corev1.Taint) int {
	var b strings.Builder
	for _, list := range [][]corev1.Taint{before, after} {
		for _, t := range list {
			fmt.Fprintf(&b, "%s=%s:%s@%v,", t.Key, t.Value, t.Effect, t.TimeAdded)
		}
		b.WriteByte('|')
	}
	n, known := e.groups[b.String()]
	if !known {
		n = len(e.groups)
		e.groups[b.String()] = n
	}
	return n
}

// leaving returns which pods of a node do not keep their places on it, nil where all do: those
// that a drain evicts, those that the node's taints may evict, those that failed Jobs delete, and those that other
// changes of the same run evict or replace.
func (e *evaluation) leaving(name string) func(*snapshot.Pod) bool {
	others := either(either(e.mayLeave(name), e.leavesElsewhere(name)), e.ends())
	if !e.change.Drains[name] {
		return others
	}
	return func(pod *snapshot.Pod) bool {
		return e.selects(pod) && !e.snapshot.RunsOnEveryNode(pod) || others != nil && others(pod)
	}
}

// either joins two questions about a pod, nil for none.
func either(a, b func(*snapshot.Pod) bool) func(*snapshot.Pod) bool {
	if a == nil {
		return b
	}
	if b == nil {
		return a
	}
	return func(pod *snapshot.Pod) bool { return a(pod) || b(pod) }
}

func (e *evaluation) mayLeave(name string) func(*snapshot.Pod) bool {
	_, after := e.taints(name)
	// On a node that is not drained, only NoExecute evicts pods.
	if !slices.ContainsFunc(after, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoExecute }) {
		if len(e.change.Tolerations) == 0 {
			return nil
		}
		return e.replaces
	}
	node := e.node(name)
	return func(pod *snapshot.Pod) bool { return e.replaces(pod) || e.judge(node, pod.Scheduling).goes() }
}

// replaces reports whether the same run changes the pod's workload: a new pod takes its
// place, which may be put elsewhere.
func (e *evaluation) replaces(pod *snapshot.Pod) bool {
	if len(e.change.Tolerations) == 0 {
		return false
	}
	_, replaced := e.change.Tolerations[snapshot.WorkloadKey{Namespace: pod.Namespace, Owner: e.snapshot.Owner(pod)}]
	return replaced
}
