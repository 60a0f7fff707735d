// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// DesiredSets is what one resource wants of MachineSets.
type DesiredSets struct {
	Target  machineset.Target
	Desired machineset.Desired
	Labels  label.Claim
	// AtOnce is how many of them roll out at the same time at most.
	AtOnce int
}

// Of returns the change of one MachineSet. One outside the target gives up all entries that the
// resource owns.
func (d DesiredSets) Of(o machineset.Observed) SetChange {
	c := SetChange{Observed: o, Desired: d.Desired.Of(o.Set, d.Target), Labels: d.Labels}
	if !d.Target.Matches(o.Set) {
		// Marks count by their proof alone there, as those of taints do.
		c.Labels.Release, c.Labels.TakeOver, c.Labels.Labels = true, false, nil
	}
	return c
}

// Changes returns the changes, by name, of the MachineSets in the target and of those with an
// entry that the resource owns.
func (d DesiredSets) Changes(all []machineset.Observed) MachineSets {
	out := MachineSets{AtOnce: d.AtOnce}
	for _, o := range all {
		if c := d.Of(o); d.Target.Matches(o.Set) || c.Desired.Owns(o.Set) || c.Labels.On(o.Set.Object()).Owns(o.Set.LabelRecord) {
			out.Sets = append(out.Sets, c)
		}
	}
	slices.SortFunc(out.Sets, func(a, b SetChange) int { return strings.Compare(a.Set.Key(), b.Set.Key()) })
	return out
}

// MachineSets is a desired change of MachineSets, and of nodes by way of these.
type MachineSets struct {
	Sets []SetChange
	// AtOnce is how many of them roll out at the same time at most.
	AtOnce int
}

// SetChange is what is desired of one MachineSet: taints, which reach its machines by a
// rollout, and labels, which need none.
type SetChange struct {
	machineset.Observed
	Desired machineset.Desired
	Labels  label.Claim
}

// labelled is what the label steps will have left of the template.
func (c SetChange) labelled() machineset.Observed {
	o, set := c.Observed, *c.Set
	set.NodeLabels = machineset.PlanLabels(c.Observed, c.Labels).Template.Labels
	o.Set = &set
	return o
}

// SetSwitch is a rollout of MachineSets and what it does.
type SetSwitch struct {
	Affected []machineset.Affected
	Impact   machineset.Impact
	// Begins is the impact of those whose rollout no earlier apply has begun: it alone
	// can be refused.
	Begins machineset.Impact
}

// Moves reports whether machines are replaced or written to, so that pods may be evicted.
func (s *SetSwitch) Moves() bool {
	return slices.ContainsFunc(s.Affected, func(a machineset.Affected) bool { return len(a.Effect.Stale)+len(a.Effect.NodeRepairs) > 0 })
}

// goesOn reports whether an earlier apply has begun one of the rollouts: it goes on whatever
// the others are refused for.
func (s *SetSwitch) goesOn() bool { return len(machineset.Beginning(s.Affected)) < len(s.Affected) }

// Taints returns what nodes have after a step that changes them, by name: a node whose
// machine is replaced stands for the one that comes in its place.
func (s Step) Taints() map[string][]corev1.Taint {
	if s.Switch != nil {
		return machineset.TaintsAfter(s.Switch.Affected)
	}
	return s.Nodes.Change().Taints
}

// Affected are the MachineSets that a change of their taints concerns.
func (m MachineSets) Affected() []machineset.Affected {
	var out []machineset.Affected
	for _, c := range m.Sets {
		a := machineset.Affected{Observed: c.labelled()}
		if a.Effect = machineset.Plan(a.Observed, c.Desired); a.Effect.Changes() {
			out = append(out, a)
		}
	}
	return out
}

// labelSets labels the nodes of MachineSets: Label adds labels, and Unlabel removes them.
func (o *order) labelSets(kind StepKind) (step Step, removed map[string][]string) {
	step = Step{Kind: kind}
	for _, c := range o.change.MachineSets.Sets {
		claim := c.Labels
		claim.Keep = kind == Label
		l := machineset.PlanLabels(c.Observed, claim)
		if len(l.Intents) == 0 && !l.Waits || kind == Unlabel && len(l.Template.Removed) == 0 {
			continue
		}
		step.Sets++
		for _, n := range l.Nodes {
			step.Labels.Switches = append(step.Labels.Switches, LabelSwitch{Node: n.Node, Merged: n.Merged})
		}
		if kind == Unlabel {
			removed = o.removedFrom(c, l, removed)
		}
	}
	return step, removed
}

// removedFrom adds the labels that a MachineSet's template loses, with the values that
// its template or its nodes have.
func (o *order) removedFrom(c SetChange, l machineset.Labelling, removed map[string][]string) map[string][]string {
	if removed == nil {
		removed = map[string][]string{}
	}
	for _, key := range l.Template.Removed {
		values := removed[key]
		if value, there := c.Set.NodeLabels[key]; there {
			values = append(values, value)
		}
		for _, n := range l.Nodes {
			if value, there := n.Node.Labels[key]; there && slices.Contains(n.Merged.Removed, key) {
				values = append(values, value)
			}
		}
		slices.Sort(values)
		removed[key] = slices.Compact(values)
	}
	return removed
}

// switchSets rolls taints out to machines.
func (o *order) switchSets(affected []machineset.Affected) {
	if len(affected) == 0 {
		return
	}
	snapshot := o.foreseen()
	evaluate := func(some []machineset.Affected) machineset.Impact {
		return machineset.Evaluate(snapshot, some, o.planned, o.comparison, o.change.MachineSets.AtOnce)
	}
	s := &SetSwitch{Affected: affected, Impact: evaluate(affected)}
	s.Begins = s.Impact
	if begin := machineset.Beginning(affected); len(begin) < len(affected) {
		s.Begins = evaluate(begin)
	}
	s.Impact.Report = o.dropAlreadyLeaving(s.Impact.Report)
	step := Step{Kind: ApplyTaints, Switch: s, Report: s.Impact.Report}
	taints := step.Taints()
	maps.Copy(o.taints, taints)
	for name, list := range taints {
		o.node(name).Taints = list
	}
	o.plan.Steps = append(o.plan.Steps, step)
}

// dropAlreadyLeaving leaves out of a report the pods that a step before has made leave.
func (o *order) dropAlreadyLeaving(report *eviction.Report) *eviction.Report {
	report.Pods = slices.DeleteFunc(report.Pods, func(v eviction.PodVerdict) bool { return o.ahead.left[v.Pod.UID] })
	for _, v := range report.Pods {
		if v.Verdict == eviction.EvictedNow {
			o.ahead.left[v.Pod.UID] = true
		}
	}
	return report
}
