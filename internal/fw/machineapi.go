// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"github.com/hashicorp/terraform-plugin-framework/diag"
)

// MachineAPINamespace is where OpenShift's Machine API keeps its objects.
const MachineAPINamespace = "openshift-machine-api"

// NoMachineAPI words that a cluster serves no MachineSets.
func NoMachineAPI(err error) diag.Diagnostic {
	return diag.NewErrorDiagnostic("Unable to find MachineSets: the cluster has no Machine API",
		"MachineSets are OpenShift's (machine.openshift.io/v1beta1), and this cluster does not serve them: it is not OpenShift, or one without the capability MachineAPI, or one whose control plane is hosted. "+
			"kubetaint_node_taints works on any cluster.\n\nOriginal error: "+err.Error())
}
