// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"fmt"
	"maps"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// Labelling is what a change makes of the labels that nodes get by a MachineSet. Its
// template says whose they are, as it does of taints; Machines and nodes that exist are
// written to, because a template reaches none of them. No machine is replaced for it.
type Labelling struct {
	// Template is the claim merged into the template's labels.
	Template label.Merged
	// Intents are the writes to make now, none where nothing is left to do or where
	// something is in the way.
	Intents []Intent
	// Waits reports that the last mark can go once the controller has seen the template.
	Waits bool
	// Nodes are the nodes whose labels change, in the order of their machines.
	Nodes []LabelledNode
	// Machines says, by name, which of them differ, on the Machine or on its node.
	Machines map[string]bool
	// Conflicts are what another writer has given another value.
	Conflicts []LabelConflict
}

// LabelledNode is a node of a MachineSet and what becomes of its labels.
type LabelledNode struct {
	Node   *snapshot.Node
	Merged label.Merged
}

// LabelConflict is a wanted label that another writer has given another value.
type LabelConflict struct {
	// Where names the object: the title of the MachineSet, the Machine or the node.
	Where string
	label.Conflict
}

// SetLabels are the labels of a template and the record of who owns them.
type SetLabels struct {
	Changes map[string]*string
	Record  label.Record
}

// PlanLabels compares a MachineSet, its Machines and their nodes with a claim.
//
// nodelink sets on a node what its Machine has, and takes nothing away
// (openshift/machine-api-operator pkg/controller/nodelink/nodelink_controller.go,
// processNode): a label goes from the template, then from the Machine, then from
// the node. Its mark stays in the template until the last of them is clean, so that
// a run after a kill in between finds what is left.
func PlanLabels(o Observed, claim label.Claim) Labelling {
	p := &labelPlan{Observed: o, merged: label.Merge(o.Set.NodeLabels, o.Set.LabelRecord, claim.On(o.Set.Object()))}
	p.out.Template, p.out.Machines = p.merged, map[string]bool{}
	if !claim.Release {
		p.wanted = claim.Labels
	}
	if p.conflicts(); len(p.out.Conflicts) > 0 {
		return p.out
	}
	p.template()
	machines := slices.DeleteFunc(slices.SortedFunc(slices.Values(o.Machines), byName), func(m *Machine) bool { return m.Deleting || p.skip(m) })
	for _, m := range machines {
		p.machine(m)
	}
	// Nodelink would put back on a node any label that it has not yet seen removed from its Machine.
	early := len(p.out.Intents) > 0
	for _, m := range machines {
		if n := p.Nodes[m.Node]; n != nil {
			p.node(m, n, early)
		}
	}
	switch {
	case len(p.out.Intents) > 0 || !p.merged.Changed || p.skipped:
	case !o.Set.Observed && !o.neverAttended():
		// It may yet make a machine from the template as it was.
		p.out.Waits = true
	default:
		p.write(SetLabels{Record: p.merged.Record}, fmt.Sprintf("no machine has %d labels any more", len(p.merged.Removed)))
	}
	return p.out
}

type labelPlan struct {
	Observed
	wanted map[string]string
	merged label.Merged
	out    Labelling
	// skipped is set where a machine differs and is left as it is.
	skipped bool
}

// skips reports whether a machine is left as it is because the record of its node's labels cannot
// be read: a kubelet must not hold up the other nodes. Its Machine's labels are not written
// either, since nodelink sets them on the node.
func (p *labelPlan) skips(m *Machine) bool {
	n := p.Nodes[m.Node]
	return n != nil && n.LabelRecordErr != nil
}

// skip notes how a machine that is left as it is differs; false where it is none.
func (p *labelPlan) skip(m *Machine) bool {
	if !p.skips(m) {
		return false
	}
	if len(p.changes(m.Labels, nil))+len(p.changes(p.Nodes[m.Node].Labels, nil)) > 0 {
		p.skipped, p.out.Machines[m.Name] = true, true
	}
	return true
}

// Unreadable returns the names of the nodes of a MachineSet whose record of labels is damaged.
func (o Observed) Unreadable() []string {
	var out []string
	for name, n := range o.Nodes {
		if n.LabelRecordErr != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}

// conflicts notes what others have given another value. What the template has is the
// template's: a machine that differs from it is behind.
func (p *labelPlan) conflicts() {
	add := func(where string, c label.Conflict) {
		p.out.Conflicts = append(p.out.Conflicts, LabelConflict{where, c})
	}
	for _, c := range p.merged.Conflicts {
		add(p.Set.Title(), c)
	}
	for _, m := range slices.SortedFunc(slices.Values(p.Machines), byName) {
		if p.skips(m) {
			continue
		}
		n := p.Nodes[m.Node]
		for _, key := range slices.Sorted(maps.Keys(p.wanted)) {
			value := p.wanted[key]
			_, ours := p.Set.LabelRecord.Of(key)
			_, templates := p.Set.NodeLabels[key]
			if now, there := m.Labels[key]; there && now != value && !ours && !templates {
				add(`Machine "`+m.Key()+`"`, label.Conflict{Key: key, Value: now})
			}
			if n == nil {
				continue
			}
			mark, marked := n.LabelRecord.Of(key)
			if now, there := n.Labels[key]; there && now != value && (marked || !ours && !templates) {
				add(`node "`+n.Name+`"`, label.Conflict{Key: key, Owner: mark.Owner, Value: now})
			}
		}
	}
}

// template writes the template, and keeps the marks of what goes.
func (p *labelPlan) template() {
	record := slices.Clone(p.merged.Record)
	for _, key := range p.merged.Removed {
		mark, _ := p.Set.LabelRecord.Of(key)
		record = append(record, mark)
	}
	if len(p.merged.Changes) > 0 || record.String() != p.Set.LabelRecord.String() {
		p.write(SetLabels{Changes: p.merged.Changes, Record: record}, fmt.Sprintf("%d labels of its template differ", len(p.merged.Changes)))
	}
}

func (p *labelPlan) write(labels SetLabels, reason string) {
	p.out.Intents = append(p.out.Intents, Intent{Kind: WriteSet, Set: &SetWrite{Labels: &labels}, Reason: reason})
}

// machine writes a Machine.
func (p *labelPlan) machine(m *Machine) {
	if changes := p.changes(m.Labels, nil); len(changes) > 0 {
		p.out.Machines[m.Name] = true
		p.out.Intents = append(p.out.Intents, Intent{Kind: WriteMachine, Machine: m, Labels: changes, Reason: fmt.Sprintf("%d of its labels differ from the template", len(changes))})
	}
}

// node writes the node of a Machine, unless it is too early for that.
func (p *labelPlan) node(m *Machine, n *snapshot.Node, early bool) {
	changes := p.changes(n.Labels, n.LabelRecord)
	if len(changes) == 0 {
		return
	}
	p.out.Machines[m.Name] = true
	if !early {
		p.out.Intents = append(p.out.Intents, Intent{Kind: WriteNode, Machine: m, Node: n, Labels: changes, Reason: fmt.Sprintf("%d of its labels differ from its Machine", len(changes))})
	}
	merged := label.Merged{Labels: label.Apply(n.Labels, changes), Record: n.LabelRecord, Changes: changes, Changed: true}
	for key, value := range changes {
		now, there := n.Labels[key]
		switch {
		case value == nil:
			merged.Removed = append(merged.Removed, key)
		case !there:
			merged.Missing = append(merged.Missing, key)
		case now != *value:
			merged.Different = append(merged.Different, key)
		}
	}
	p.out.Nodes = append(p.out.Nodes, LabelledNode{n, merged})
}

// changes are those that make labels agree with the template. What another writer has marked
// as their own on a node is left to them.
func (p *labelPlan) changes(labels map[string]string, record label.Record) map[string]*string {
	out := map[string]*string{}
	for key, value := range p.wanted {
		if now, there := labels[key]; !there || now != value {
			out[key] = &value
		}
	}
	for _, key := range p.merged.Removed {
		if _, there := labels[key]; there {
			out[key] = nil
		}
	}
	for _, mark := range record {
		delete(out, mark.Key)
	}
	return out
}
