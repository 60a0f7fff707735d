// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// NodeLabels is a desired change of the labels of nodes.
type NodeLabels struct {
	Target Target
	Claim  label.Claim
	// Machines are needed only where labels are removed.
	Machines Machines
}

// LabelSwitch is what becomes of the labels of one node in one patch.
type LabelSwitch struct {
	Node   *snapshot.Node
	Merged label.Merged
	// Leaving is set for a node that does not match any more.
	Leaving bool
}

// LabelPlan is the nodes whose labels change, by name, and what stands in the
// way.
type LabelPlan struct {
	Switches []LabelSwitch
	Refusals []Refusal
	// TakenOver are the nodes where labels of an earlier generation are
	// adopted.
	TakenOver []string
}

// Adding is the same desire without what it takes away: labels that pods may
// still require stay until these pods are gone.
func (d NodeLabels) Adding() NodeLabels {
	d.Claim.Keep = true
	return d
}

// Unreadable returns the names of the nodes of its target, or of former ones, whose record of owned labels is damaged.
func (d NodeLabels) Unreadable(nodes []*snapshot.Node, former ...Target) []string {
	return names(nodes, append(former, d.Target), func(n *snapshot.Node) bool { return n.LabelRecordErr != nil })
}

// PlanLabels compares nodes with what is desired.
func PlanLabels(nodes []*snapshot.Node, desired NodeLabels) LabelPlan {
	var p LabelPlan
	leaver := desired.leaving().Claim
	for _, n := range nodes {
		if !desired.Target.Matches(n) && !leaver.OnNode(n.Name, n.UID).Owns(n.LabelRecord) || desired.skips(n) {
			continue
		}
		merged := MergeLabels(n, desired)
		p.Refusals = append(p.Refusals, RefuseLabels(n, merged, desired)...)
		if len(merged.TakenOver) > 0 {
			p.TakenOver = append(p.TakenOver, n.Name)
		}
		if merged.Changed {
			p.Switches = append(p.Switches, LabelSwitch{Node: n, Merged: merged, Leaving: !desired.Target.Matches(n)})
		}
	}
	return p
}

// skips reports whether a node is left as it is because a record of it cannot be read, as for
// taints: a label on a node that does not get the taints would bring pods to it.
func (d NodeLabels) skips(n *snapshot.Node) bool {
	return (n.LabelRecordErr != nil || n.RecordErr != nil) && d.Target.Selector != nil && !d.Claim.Release && d.Target.Matches(n)
}

// leaving is what becomes of a node that is not meant: as for taints, marks count there by
// their proof alone.
func (d NodeLabels) leaving() NodeLabels {
	d.Claim.Release, d.Claim.TakeOver, d.Claim.Labels = true, false, nil
	return d
}

// MergeLabels merges a claim into one node's labels. It is what the plan shows,
// and what is computed again from a fresh read right before a node is written.
func MergeLabels(n *snapshot.Node, desired NodeLabels) label.Merged {
	if !desired.Target.Matches(n) {
		desired = desired.leaving()
	}
	return label.Merge(n.Labels, n.LabelRecord, desired.Claim.OnNode(n.Name, n.UID))
}

// RefuseLabels returns why the labels of one node must not be written, nil where
// they may be.
func RefuseLabels(n *snapshot.Node, merged label.Merged, desired NodeLabels) []Refusal {
	if n.LabelRecordErr != nil {
		return []Refusal{{Node: n.Name, Labels: true, Why: n.LabelRecordErr.Error() +
			" (repair it; or remove it with \"kubectl annotate node " + n.Name + " " + label.OwnedAnnotation + "-\", after which its labels have no owner)"}}
	}
	var out []Refusal
	for _, c := range merged.Conflicts {
		out = append(out, Refusal{Node: n.Name, Labels: true, Label: &c})
	}
	if len(out) > 0 || desired.Claim.Release || !desired.Target.Matches(n) {
		return out
	}
	if why := tooLarge(n, n.Record, merged.Record); merged.Changed && why != "" {
		out = append(out, Refusal{Node: n.Name, Labels: true, Why: why})
	}
	out = append(out, desired.putBack(n, merged)...)
	// With the node it would lose its taints at the next apply, and win them
	// again at the one after that.
	after := *n
	after.Labels = merged.Labels
	if !desired.Target.Matches(&after) {
		out = append(out, Refusal{Node: n.Name, Labels: true, Why: "with its new labels, the selector \"" + desired.Target.Selector.String() + "\" would not match it any more: select the nodes by labels that this resource does not change"})
	}
	return out
}

// removed returns the labels that a plan takes away, with the values that they
// have on some node.
func (p LabelPlan) removed() map[string][]string {
	out := map[string][]string{}
	for _, s := range p.Switches {
		for _, key := range s.Merged.Removed {
			if value, there := s.Node.Labels[key]; there && !slices.Contains(out[key], value) {
				out[key] = append(out[key], value)
			}
		}
	}
	return out
}

// removing is the part of a plan that takes labels away.
func (p LabelPlan) removing() LabelPlan {
	p.Switches = slices.DeleteFunc(slices.Clone(p.Switches), func(s LabelSwitch) bool { return len(s.Merged.Removed) == 0 })
	return p
}

// Words writes what a plan does to labels, such as "labels dedicated=gpu, tier".
func (p LabelPlan) Words() string {
	var all []string
	for _, s := range p.Switches {
		for key, value := range s.Merged.Changes {
			if value != nil {
				key += "=" + *value
			}
			all = append(all, key)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	noun := "labels"
	if len(all) == 1 {
		noun = "label"
	}
	if len(all) > 2 {
		return fmt.Sprintf("%s %s and %d more", noun, all[0], len(all)-1)
	}
	return noun + " " + strings.Join(all, ", ")
}
