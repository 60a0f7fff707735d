// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// WarnPutBack warns of labels that OpenShift restores on nodes that are given up, as
// planner.PutBack returns them.
func WarnPutBack(back map[string][]string, diags *diag.Diagnostics) {
	if len(back) == 0 {
		return
	}
	lines, affected := perEntry(back, "node")
	diags.AddWarning(fmt.Sprintf("OpenShift will restore %s, which this plan removes from %s", entryNames(back), Count(affected, "node")),
		"The Machines of these nodes have them:\n\n"+strings.Join(lines, "\n")+
			"\n\nNo resource manages them then. To remove them for good, remove them from the MachineSet's template and from the Machines, in this apply or before.")
}

// WarnGivenUp warns of taints that are removed from Machines before their nodes, and of those that
// stay on nodes that are given up.
func WarnGivenUp(up planner.GivenUp, diags *diag.Diagnostics) {
	if len(up.FromMachines) > 0 {
		lines, affected := perEntry(up.FromMachines, "Machine")
		detail := "OpenShift would restore it on the nodes of these Machines.\nApply removes it from the Machine first:\n\n" + strings.Join(lines, "\n")
		if len(up.Templates) > 0 {
			detail += "\n\nThe template of " + Agree(len(up.Templates), "MachineSet ", "MachineSets ") + Some(up.Templates) + " keeps the taint, so new Machines have it again. " +
				"Remove it there as well if that is not intended."
		}
		diags.AddWarning(fmt.Sprintf("This plan removes taint %s from %s, and from %s", entryNames(up.FromMachines), Count(affected, "Machine"), Agree(affected, "its node", "their nodes")),
			detail+"\n\nTo keep the taint, remove this resource from the state instead of destroying it (a removed block with destroy = false).")
	}
	if len(up.Kept) == 0 {
		return
	}
	lines, affected := perEntry(up.Kept, "node")
	detail := "OpenShift would restore it:\n\n" + strings.Join(lines, "\n") + "\n\nThis plan gives up its ownership and leaves the taint in place." + whyKept(up)
	diags.AddWarning(fmt.Sprintf("Taint %s stays on %s", entryNames(up.Kept), Count(affected, "node")), detail)
}

// whyKept words why taints stay, and what to do.
func whyKept(up planner.GivenUp) string {
	var b strings.Builder
	say := func(names []string, format string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "\n\n"+format, Some(names))
		}
	}
	say(up.Owners, "The taint in the MachineSet and its Machines is owned by %s: remove it from the configuration of that resource.")
	say(up.Damaged, "The ownership record of MachineSet %s cannot be read, and may name an owner of the taint: repair it, then plan again.")
	say(up.Unread, "The credentials may not list MachineSets, so whether one owns the taint of Machine %s is not known. Grant list of machinesets in machine.openshift.io, then plan again. "+
		"If apply has this right and finds no owner, it removes the taint from the Machine and then from the node.")
	say(up.Machines, "No record shows that this resource adopted it from Machine %s, which another writer may own. "+
		"To remove it, remove it from the MachineSet's template and the Machine's spec.taints first, then from the node.")
	if up.MachineConfig {
		b.WriteString("\n\nThe machine-config operator sets the taint of control-plane nodes: change mastersSchedulable of the Scheduler named \"cluster\".")
	}
	return b.String()
}

// WarnUnchecked warns of entries that OpenShift may restore, as planner.Unchecked returns them.
func WarnUnchecked(entries map[string][]string, diags *diag.Diagnostics) {
	if len(entries) == 0 {
		return
	}
	lines, affected := perEntry(entries, "node")
	diags.AddWarning(fmt.Sprintf("OpenShift may restore %s, which this plan removes from %s: no permission to list Machines", entryNames(entries), Count(affected, "node")),
		"These nodes have Machines, and OpenShift restores what a Machine has:\n\n"+strings.Join(lines, "\n")+
			"\n\nNo resource manages it then. Grant list of machines and machinesets in machine.openshift.io, then plan again: the guide \"Permissions\" of the provider's documentation has the ClusterRole. "+
			"If apply has these rights, it removes an adopted taint from the Machine first, and leaves any other that the Machine has.")
}

// entryNames lists entries by name.
func entryNames(entries map[string][]string) string {
	return strings.Join(slices.Sorted(maps.Keys(entries)), ", ")
}

// perEntry lists the objects of each entry, and counts all of them.
func perEntry(entries map[string][]string, noun string) (lines []string, objects int) {
	affected := map[string]bool{}
	for _, entry := range slices.Sorted(maps.Keys(entries)) {
		lines = append(lines, "  "+entry+": "+Agree(len(entries[entry]), noun+" ", noun+"s ")+Some(entries[entry]))
		for _, node := range entries[entry] {
			affected[node] = true
		}
	}
	return lines, len(affected)
}
