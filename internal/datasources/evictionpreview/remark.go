// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview

import (
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/preview"
)

// remark reports what makes the preview worth less than it looks.
func remark(w preview.WhatIf, diags *diag.Diagnostics) {
	if w.MachineSets != nil {
		remarkMachineSets(w, diags)
	}
	switch {
	case w.MachineSets != nil, w.Matched > 0:
	case w.Target.Selector == nil:
		diags.AddAttributeError(path.Root("node_name"), fmt.Sprintf("Unable to preview node %q", w.Target.Name),
			"The cluster has no node of this name. Check the name (kubectl get nodes). If this apply creates the node, add depends_on to the data source.")
		return
	default:
		diags.AddAttributeWarning(path.Root("node_selector"), w.Nothing(),
			"The preview is empty. Check the selector (kubectl get nodes --show-labels).")
	}
	for _, name := range w.Strangers {
		diags.AddAttributeWarning(path.Root("added_tolerations"), "No pod is owned by "+name,
			"The tolerations that are added to it change nothing in this preview. Check kind, namespace and name: pods are counted by Deployment rather than by ReplicaSet, and by CronJob rather than by Job.")
	}
	if len(w.Report.Gaps) > 0 {
		diags.AddWarning("The preview is not complete: "+w.Subject().String(), " "+strings.Join(w.Report.Gaps, ".\n ")+".")
	}
}

// remarkMachineSets reports that no MachineSet is there, and what may go wrong with the rollout.
func remarkMachineSets(w preview.WhatIf, diags *diag.Diagnostics) {
	at, target := path.Root("machine_sets"), w.MachineSets.Target
	switch {
	case w.Matched > 0:
	case target.Selector == nil:
		diags.AddAttributeError(at.AtName("name"), "Unable to preview "+w.Where(),
			"The cluster has no MachineSet of this name. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A). If this apply creates the MachineSet, add depends_on to the data source.")
	default:
		diags.AddAttributeWarning(at.AtName("selector"), w.Nothing(),
			"The preview is empty. Check the selector (kubectl get machinesets.machine.openshift.io -n "+target.Namespace+" --show-labels).")
	}
	if doubts := w.FirstDoubts(); len(doubts) > 0 {
		diags.AddAttributeWarning(at, "The rollout of "+w.Where()+" may not go through", "  "+strings.Join(doubts, "\n  "))
	}
}
