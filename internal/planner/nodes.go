// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// NodeTaints is a desired change of the taints of nodes.
type NodeTaints struct {
	Target Target
	Claim  taint.Claim
	// Machines are needed only where taints must be absent, or are removed.
	Machines Machines
	// MachinesUnread is set where credentials may not list them. MachinesPlanned is set at apply where
	// the plan has: it must not do less.
	MachinesUnread, MachinesPlanned bool
	// Sets are the MachineSets of these Machines, by UID: needed only where a node is given up
	// whose Machine has a taint that is removed.
	Sets map[types.UID]*machineset.Set
	// SetsUnread is set where credentials may not list MachineSets: a taint of a Machine that has one
	// may have an owner there.
	SetsUnread bool
	// Former are the taints that the state names and the configuration does not.
	Former []taint.ID
	// Replaced is set at apply for a destroy that is half of a replacement.
	Replaced bool
	// Known proves the tolerations that others have left for these taints.
	Known []record.Seal
}

// TakingOver is the same of a create, which adopts what carries its id.
func (d NodeTaints) TakingOver() NodeTaints {
	d.Claim.TakeOver = true
	return d
}

// Entries are the taints that are wanted.
func (d NodeTaints) Entries() []taint.ID { return taint.IDs(d.Claim.Taints) }

// Named returns the taints that configuration or state name.
func (d NodeTaints) Named() []taint.ID {
	return slices.Concat(d.Claim.IDs(), d.Former)
}

// removed returns the taints of a node that a merge takes away.
func removed(n *snapshot.Node, merged taint.Merged) []taint.ID {
	var out []taint.ID
	for _, t := range n.Taints {
		if id := taint.IDOf(t); taint.Find(merged.Taints, id) < 0 {
			out = append(out, id)
		}
	}
	return out
}

// Switch is one step: the taints of one node go from Before to After in one
// patch.
type Switch struct {
	Node   *snapshot.Node
	Merged taint.Merged
	// Leaving is set for a node that the target no longer matches: it gives up the
	// taints that the resource owns.
	Leaving bool
	// Machine is that of a node that gives up taints, nil for none. FromMachine are the taints that
	// are removed from it first, Kept those that stay on both.
	Machine     *machineset.Machine
	FromMachine []taint.ID
	Kept        []taint.ID
}

// Refusal is a change of one node that must not be made.
type Refusal struct {
	Node string
	// Conflict is set where an entry is owned by another resource, Label where that
	// entry is a label.
	Conflict *taint.Conflict
	Label    *label.Conflict
	// Why is set for every other reason, and Labels where that is about labels.
	Why    string
	Labels bool
	// ID is the entry that is refused, if it is about one.
	ID taint.ID
}

// NodePlan is the ordered steps and what blocks them.
type NodePlan struct {
	// Switches are in the order in which they are made: nodes that are meant
	// before nodes that leave, each by name.
	Switches []Switch
	// unwritten are nodes that give up taints without a write, by name: the taints have no record and stay.
	unwritten []Switch
	Refusals  []Refusal
	// Matched counts the nodes that are meant.
	Matched int
	// TakenOver are the nodes where entries of an earlier generation are adopted, with what a
	// destroy restores there.
	TakenOver []string
	// Deviations is, by node, how its taints differ from the configuration.
	Deviations map[string]taint.Status
}

// PlanNodes compares nodes, in any order, with what is desired. Of a node that the target does
// not match and that has no owned taint, it reads no more than the record.
func PlanNodes(nodes []*snapshot.Node, desired NodeTaints) NodePlan {
	p := NodePlan{Deviations: map[string]taint.Status{}}
	var leaving []Switch
	leaver := desired.leaving().Claim
	for _, n := range nodes {
		meant := desired.Target.Matches(n)
		if meant {
			p.Matched++
		}
		if !meant && !leaver.OwnsOnNode(n.Name, n.UID, n.Record) {
			continue
		}
		if desired.skips(n) {
			p.skip(n, desired.Claim)
			continue
		}
		s := Switch{Node: n, Merged: MergeNode(n, desired), Leaving: !meant}
		s.noteMachine(desired)
		p.note(s, desired)
		switch {
		case !s.Merged.Changed && len(s.Kept) > 0:
			p.unwritten = append(p.unwritten, s)
		case !s.Merged.Changed:
		case s.Leaving:
			leaving = append(leaving, s)
		default:
			p.Switches = append(p.Switches, s)
		}
	}
	// Arrivals before leavers: at every moment the new nodes are tainted before
	// the old ones are open again.
	byName := func(a, b Switch) int { return strings.Compare(a.Node.Name, b.Node.Name) }
	slices.SortFunc(p.Switches, byName)
	slices.SortFunc(leaving, byName)
	slices.SortFunc(p.unwritten, byName)
	p.Switches = append(p.Switches, leaving...)
	slices.SortStableFunc(p.Refusals, func(a, b Refusal) int { return strings.Compare(a.Node, b.Node) })
	slices.Sort(p.TakenOver)
	return p
}

// skips reports whether a node is left as it is because its record cannot be read. A kubelet
// may write the annotations of its node: one of a selector must not hold up the others. A
// destroy is refused instead, since nothing would manage the node's taints afterwards.
func (d NodeTaints) skips(n *snapshot.Node) bool {
	return n.RecordErr != nil && d.Target.Selector != nil && !d.Claim.Release && d.Target.Matches(n)
}

// skip notes a node that is left as it is, and how it differs.
func (p *NodePlan) skip(n *snapshot.Node, claim taint.Claim) {
	for _, t := range claim.Taints {
		switch at := taint.Find(n.Taints, taint.IDOf(t)); {
		case at < 0:
			p.Deviations[n.Name] = taint.Missing
			return
		case n.Taints[at].Value != t.Value:
			p.Deviations[n.Name] = taint.Different
		}
	}
	if slices.ContainsFunc(claim.Absent, func(id taint.ID) bool { return taint.Find(n.Taints, id) >= 0 }) {
		p.Deviations[n.Name] = taint.Different
	}
}

// Unreadable returns the names of the nodes of its target, or of former ones, whose record of owned taints is damaged.
func (d NodeTaints) Unreadable(nodes []*snapshot.Node, former ...Target) []string {
	return names(nodes, append(former, d.Target), func(n *snapshot.Node) bool { return n.RecordErr != nil })
}

// names returns the names of the nodes of some targets with some property, sorted.
func names(nodes []*snapshot.Node, of []Target, has func(*snapshot.Node) bool) []string {
	var out []string
	for _, n := range nodes {
		if has(n) && slices.ContainsFunc(of, func(t Target) bool { return t.Matches(n) }) {
			out = append(out, n.Name)
		}
	}
	slices.Sort(out)
	return out
}

// leaving is what becomes of a node that is not meant.
func (d NodeTaints) leaving() NodeTaints {
	d.Claim = d.Claim.Leaving()
	return d
}

// MergeNode merges a claim into one node's list. It is what the plan shows, and
// what is computed again from a fresh read right before a node is written.
func MergeNode(n *snapshot.Node, desired NodeTaints) taint.Merged {
	if !desired.Target.Matches(n) {
		desired = desired.leaving()
	}
	claim := desired.Claim.OnNode(n.Name, n.UID)
	if claim.Release {
		claim.Kept = desired.kept(n)
	}
	return taint.Merge(n.Taints, n.Record, claim)
}

// restoring lists what a destroy restores of the adopted entries, by their marks. As the merge
// does, it leaves out a value that no taint can have.
func restoring(merged taint.Merged) string {
	var out []corev1.Taint
	for _, id := range merged.TakenOver {
		mark, _ := merged.Record.Of(id)
		if mark.Previous == nil {
			continue
		}
		if t := (corev1.Taint{Key: id.Key, Value: *mark.Previous, Effect: id.Effect}); len(taint.Validate(t)) == 0 {
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " (a destroy restores " + taint.FormatAll(out) + ")"
}

// note notes what blocks a step and how its node deviates.
func (p *NodePlan) note(s Switch, desired NodeTaints) {
	name := s.Node.Name
	if len(s.Merged.TakenOver) > 0 {
		p.TakenOver = append(p.TakenOver, name+restoring(s.Merged))
	}
	status := taint.Status("")
	for _, d := range s.Merged.Deviations {
		// One entry that is missing is told rather than one that differs: it
		// is what lets pods in.
		if status == "" || d == taint.Missing {
			status = d
		}
	}
	if status != "" {
		p.Deviations[name] = status
	}
	p.Refusals = append(p.Refusals, Refuse(s.Node, s.Merged, desired)...)
}

// Refuse returns why one node must not be written, nil where it may be.
func Refuse(n *snapshot.Node, merged taint.Merged, desired NodeTaints) []Refusal {
	var out []Refusal
	if n.RecordErr != nil {
		return []Refusal{{Node: n.Name, Why: n.RecordErr.Error() +
			" (repair it; or remove it with \"kubectl annotate node " + n.Name + " " + taint.OwnedAnnotation + "-\": the node's taints then have no owner, and on_conflict = \"adopt\" adopts them)"}}
	}
	for _, c := range merged.Conflicts {
		out = append(out, Refusal{Node: n.Name, Conflict: &c, ID: c.ID})
	}
	if desired.Claim.Release || !desired.Target.Matches(n) {
		return out
	}
	if why := tooLarge(n, merged.Record, n.LabelRecord); merged.Changed && why != "" {
		out = append(out, Refusal{Node: n.Name, Why: why})
	}
	return append(out, desired.putBack(n, merged)...)
}

func controlPlane(id taint.ID) bool {
	return id.Key == "node-role.kubernetes.io/control-plane" || id.Key == "node-role.kubernetes.io/master"
}

// MissingControlPlaneTaint returns the names of the control-plane nodes that get a taint with the effect
// NoSchedule and do not have the one of control-plane nodes: OpenShift documents that such
// a node must have it as well (openshift-docs
// modules/nodes-scheduler-taints-tolerations-about.adoc). Others are what the resources do that were planned before:
// they may bring the one, or the other where this plan takes away that of control-plane nodes.
func (p NodePlan) MissingControlPlaneTaint(others *snapshot.Others) []string {
	var out []string
	for _, s := range p.Switches {
		if _, is := s.Node.Labels["node-role.kubernetes.io/control-plane"]; !is {
			if _, is = s.Node.Labels["node-role.kubernetes.io/master"]; !is {
				continue
			}
		}
		var theirs []corev1.Taint
		if others != nil {
			theirs = others.Taints[s.Node.Name]
		}
		marked := slices.ContainsFunc(s.Merged.Taints, marksControlPlane) || slices.ContainsFunc(theirs, marksControlPlane)
		brings := slices.ContainsFunc(beyond(s.Merged.Taints, s.Node.Taints), keepsOut)
		unmarks := slices.ContainsFunc(s.Node.Taints, marksControlPlane)
		if !marked && (brings || unmarks && slices.ContainsFunc(theirs, keepsOut)) {
			out = append(out, s.Node.Name)
		}
	}
	return out
}

func keepsOut(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule }

func marksControlPlane(t corev1.Taint) bool { return keepsOut(t) && controlPlane(taint.IDOf(t)) }

// Change is what the nodes of the plan will look like, for a preview.
func (p NodePlan) Change() eviction.Scenario {
	c := eviction.Scenario{Taints: make(map[string][]corev1.Taint, len(p.Switches))}
	for _, s := range p.Switches {
		c.Taints[s.Node.Name] = s.Merged.Taints
	}
	return c
}

// Brought returns the taints that the plan puts on some node, new or with
// another value, sorted. What is only removed or kept is not among them.
func (p NodePlan) Brought() []corev1.Taint {
	seen := map[string]bool{}
	var out []corev1.Taint
	for _, s := range p.Switches {
		for _, t := range s.Merged.Taints {
			at := taint.Find(s.Node.Taints, taint.IDOf(t))
			if at >= 0 && s.Node.Taints[at].Value == t.Value || seen[taint.Format(t)] {
				continue
			}
			seen[taint.Format(t)] = true
			out = append(out, t)
		}
	}
	return taint.Sort(out)
}

// MayStrand reports whether some node loses a taint, or the value of one, and gets
// another one that keeps pods away: pods that tolerate only the first would be
// stranded.
func (p NodePlan) MayStrand() bool {
	return slices.ContainsFunc(p.Switches, func(s Switch) bool {
		return len(beyond(s.Node.Taints, s.Merged.Taints)) > 0 &&
			slices.ContainsFunc(beyond(s.Merged.Taints, s.Node.Taints), func(t corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule })
	})
}

// beyond returns the taints of a list that another one does not hold with the
// same value.
func beyond(list, other []corev1.Taint) []corev1.Taint {
	var out []corev1.Taint
	for _, t := range list {
		if at := taint.Find(other, taint.IDOf(t)); at < 0 || other[at].Value != t.Value {
			out = append(out, t)
		}
	}
	return out
}

// EvictsNothing reports whether the plan evicts no pod for sure: it adds no taint that
// a pod might not tolerate. A preview of it need not read pods.
func (p NodePlan) EvictsNothing() bool {
	for _, t := range p.Brought() {
		if t.Effect != corev1.TaintEffectPreferNoSchedule {
			return false
		}
	}
	return true
}
