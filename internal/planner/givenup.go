// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// A node gives up a taint by a destroy, or because it is not targeted any more. The node's record shows
// who owns the taint there. A Machine has no record, and nodelink restores the taint from it, so the
// taint is removed from the Machine first (openshift/machine-api-operator FAQ.md, "Adding or removing
// taints"). It stays on both where that is not shown to be right:
//   - a record of the MachineSet names an owner, or cannot be read;
//   - the node's mark does not prove that the resource has adopted the taint, so that another writer
//     may have given it to the Machine;
//   - the Machine names another node. The annotation that leads from a node to its Machine can be
//     written by the kubelet, the status of a Machine cannot.

// machineOf returns the Machine of a node, nil where none is known.
func (m Machines) machineOf(n *snapshot.Node) *machineset.Machine { return m[n.Machine] }

// ownerInSet returns who owns a taint of a node's Machine by the records of its MachineSet, "" for a
// record that cannot be read, and reports whether it may have an owner there.
func (d NodeTaints) ownerInSet(n *snapshot.Node, id taint.ID) (owner string, owned bool) {
	machine := d.Machines.machineOf(n)
	switch {
	case machine == nil || machine.Set == "":
		return "", false
	case d.SetsUnread:
		return "", true
	case d.Sets[machine.Set] == nil:
		return "", false
	}
	set := d.Sets[machine.Set]
	if mark, marked := set.Record.Of(id); marked {
		return mark.Owner, true
	}
	for _, left := range set.Remnants {
		if left.Key == id.Key && left.Effect == id.Effect && slices.Contains(left.Machines, machine.UID) {
			return left.Owner, true
		}
	}
	return "", set.RecordErr != nil
}

// WithoutOwner returns those of some taints of a node's Machine that have no owner in its MachineSet.
func (d NodeTaints) WithoutOwner(n *snapshot.Node, ids []taint.ID) []taint.ID {
	return slices.DeleteFunc(slices.Clone(ids), func(id taint.ID) bool {
		_, owned := d.ownerInSet(n, id)
		return owned
	})
}

// kept returns the taints of a node that stay there when they are given up.
func (d NodeTaints) kept(n *snapshot.Node) []taint.ID {
	var out []taint.ID
	claim := d.Claim.OnNode(n.Name, n.UID)
	for _, t := range n.Taints {
		id := taint.IDOf(t)
		if n.MachineConfig && controlPlane(id) || d.Machines.HasTaint(n, id) && !d.ofMachine(n, id, claim) {
			out = append(out, id)
		}
	}
	return out
}

// ofMachine reports whether a taint that a node gives up may be removed from its Machine.
func (d NodeTaints) ofMachine(n *snapshot.Node, id taint.ID, claim taint.Claim) bool {
	_, owned := d.ownerInSet(n, id)
	return !owned && d.Machines.machineOf(n).Node == n.Name && claim.Adopted(n.Record, id)
}

// noteMachine notes what a switch means for the node's Machine.
func (s *Switch) noteMachine(desired NodeTaints) {
	if !s.Leaving && !desired.Claim.Release {
		return
	}
	if s.Leaving {
		desired = desired.leaving()
	}
	s.Machine = desired.Machines.machineOf(s.Node)
	for _, id := range removed(s.Node, s.Merged) {
		if desired.Machines.HasTaint(s.Node, id) {
			s.FromMachine = append(s.FromMachine, id)
		}
	}
	claim := desired.Claim.OnNode(s.Node.Name, s.Node.UID)
	for _, id := range desired.kept(s.Node) {
		_, before := s.Node.Record.Of(id)
		_, after := s.Merged.Record.Of(id)
		if before && !after || !before && claim.Unmarked(id) {
			s.Kept = append(s.Kept, id)
		}
	}
}

// Without returns a list of taints without those of some identities.
func Without(taints []corev1.Taint, ids []taint.ID) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(t corev1.Taint) bool { return slices.Contains(ids, taint.IDOf(t)) })
}

// NeedSets reports whether a plan of these changes requires the MachineSets of Machines: it does
// if a node is given up with a taint that its Machine has.
func NeedSets(nodes []*snapshot.Node, d NodeTaints) bool {
	return slices.ContainsFunc(nodes, func(n *snapshot.Node) bool {
		machine := d.Machines.machineOf(n)
		return machine != nil && machine.Set != "" && (d.Claim.Release || !d.Target.Matches(n)) &&
			slices.ContainsFunc(removed(n, MergeNode(n, d)), func(id taint.ID) bool { return d.Machines.HasTaint(n, id) })
	})
}

// GivenUp is what becomes of taints that are given up and that OpenShift would restore.
type GivenUp struct {
	// FromMachines are the Machines that the taints are removed from, by taint, and Templates the
	// MachineSets among theirs whose template has one of these taints.
	FromMachines map[string][]string
	Templates    []string
	// Kept are the nodes where taints stay, by taint. The other fields are the reasons.
	Kept map[string][]string
	// Owners own one in a MachineSet.
	Owners []string
	// Damaged are MachineSets whose records cannot be read.
	Damaged []string
	// Unread are Machines whose MachineSets the credentials may not list.
	Unread []string
	// Machines have one that no record shows to be adopted.
	Machines []string
	// MachineConfig reports that the machine-config operator sets one.
	MachineConfig bool
}

// GivenUp returns what becomes of the taints that a plan gives up and that OpenShift would restore.
func (p NodePlan) GivenUp(desired NodeTaints) GivenUp {
	out := GivenUp{FromMachines: map[string][]string{}, Kept: map[string][]string{}}
	for _, s := range slices.Concat(p.Switches, p.unwritten) {
		for _, id := range s.FromMachine {
			out.FromMachines[id.String()] = append(out.FromMachines[id.String()], s.Machine.Key())
			if set := desired.Sets[s.Machine.Set]; set != nil && taint.Find(set.Taints, id) >= 0 {
				out.Templates = append(out.Templates, set.Key())
			}
		}
		for _, id := range s.Kept {
			out.Kept[id.String()] = append(out.Kept[id.String()], s.Node.Name)
			out.because(s, id, desired)
		}
	}
	out.FromMachines, out.Kept = sorted(out.FromMachines), sorted(out.Kept)
	for _, list := range []*[]string{&out.Templates, &out.Owners, &out.Damaged, &out.Unread, &out.Machines} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

// because notes why a taint stays.
func (g *GivenUp) because(s Switch, id taint.ID, desired NodeTaints) {
	owner, owned := desired.ownerInSet(s.Node, id)
	switch {
	case s.Node.MachineConfig && controlPlane(id):
		g.MachineConfig = true
	case !owned:
		g.Machines = append(g.Machines, s.Machine.Key())
	case owner != "":
		g.Owners = append(g.Owners, owner)
	case desired.SetsUnread:
		g.Unread = append(g.Unread, s.Machine.Key())
	default:
		g.Damaged = append(g.Damaged, desired.Sets[s.Machine.Set].Key())
	}
}

// Unchecked returns the entries that plans remove from nodes of Machines which the credentials may not
// list, such as taint spot:NoSchedule, with the names of the nodes: OpenShift may restore them.
func Unchecked(nodes NodePlan, labels LabelPlan, desired NodeTaints) map[string][]string {
	out := map[string][]string{}
	if !desired.MachinesUnread {
		return out
	}
	add := func(entry string, n *snapshot.Node) {
		if n.Machine != "" {
			out[entry] = append(out[entry], n.Name)
		}
	}
	for _, s := range nodes.Switches {
		for _, id := range removed(s.Node, s.Merged) {
			add("taint "+id.String(), s.Node)
		}
	}
	for _, s := range labels.Switches {
		for _, key := range s.Merged.Removed {
			add("label "+key, s.Node)
		}
	}
	return sorted(out)
}

// WithSet returns the change with a MachineSet as it is now, nil for one that is gone.
func (d NodeTaints) WithSet(old, now *machineset.Set) NodeTaints {
	d.Sets = maps.Clone(d.Sets)
	delete(d.Sets, old.UID)
	if now != nil && now.UID == old.UID {
		d.Sets[now.UID] = now
	}
	return d
}
