// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// WithMachines adds OpenShift's Machines to changes of nodes, where any of these has one and it
// matters. Credentials without permission for Machines can remove entries all the same; that taints
// stay away can be promised only with it.
func (d *Data) WithMachines(ctx context.Context, nodes []*snapshot.Node, taints planner.NodeTaints, labels planner.NodeLabels) (planner.NodeTaints, planner.NodeLabels, error) {
	if !planner.NeedMachines(nodes, taints, labels) {
		return taints, labels, nil
	}
	machines, err := d.Cluster.Machines(ctx)
	if errors.Is(err, kube.ErrForbidden) && (len(taints.Claim.Absent) == 0 || taints.Claim.Release) {
		return taints, labels, nil
	}
	taints.Machines, labels.Machines = machines, machines
	return taints, labels, err
}

// WarnPutBack warns of entries that OpenShift puts back on nodes that are given up, as
// planner.PutBack returns them.
func WarnPutBack(back map[string][]string, diags *diag.Diagnostics) {
	if len(back) == 0 {
		return
	}
	lines, affected := perEntry(back, "node")
	diags.AddWarning(fmt.Sprintf("OpenShift will restore %s, which this plan removes from %s", strings.Join(slices.Sorted(maps.Keys(back)), ", "), Count(affected, "node")),
		"The Machines of these nodes have them, or the machine-config operator sets them:\n\n"+strings.Join(lines, "\n")+
			"\n\nNo resource manages them then. To remove them for good, remove them from the MachineSet's template and from the Machines (kubetaint_machine_set_taints does it in place), in this apply or before.")
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
