// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package message

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// MachineAPINamespace is where OpenShift's Machine API keeps its objects.
const MachineAPINamespace = machineset.OperatorNamespace

// NoMachineAPI words that a cluster serves no MachineSets.
func NoMachineAPI(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to find MachineSets: the cluster has no Machine API",
		"MachineSets are OpenShift's (machine.openshift.io/v1beta1), and this cluster does not serve them: it is not OpenShift, or one without the capability MachineAPI, or one whose control plane is hosted. "+
			"kubetaint_node_taints works on any cluster.\n\nOriginal error: "+err.Error())
}

// WarnUnattended warns of a MachineSet that no controller acts on.
func WarnUnattended(o machineset.Observed, strategy machineset.Strategy, diags *diag.Diagnostics) {
	if why := o.Neglected(); why != "" {
		what := "no machine will follow this change"
		if strategy == machineset.InPlace {
			what = "its machines are changed, and no new one will come"
		}
		diags.AddWarning("No controller acts on "+o.Set.Title()+": "+what, why+
			" Check the namespace. If another controller serves it, find out why that has not seen the newest generation (kubectl describe machineset.machine.openshift.io "+o.Set.Name+" -n "+o.Set.Namespace+").")
	}
}
