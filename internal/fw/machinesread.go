// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package fw

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// machinesKey is the key in the private state of a plan that has read OpenShift's Machines.
const machinesKey = "machines"

// NoteMachines notes in a plan whether it has read the Machines, and MachineSets where they matter, as
// WithMachines has added them. An apply whose credentials may not read them would change less than
// planned.
func NoteMachines(ctx context.Context, taints planner.NodeTaints, to PrivateWriter, diags *diag.Diagnostics) {
	var read []byte
	if taints.Machines != nil && !taints.SetsUnread {
		read = []byte("true")
	}
	diags.Append(to.SetKey(ctx, machinesKey, read)...)
}

// MachinesPlanned reports whether the plan that is applied has read the Machines.
func MachinesPlanned(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) bool {
	read, found := from.GetKey(ctx, machinesKey)
	diags.Append(found...)
	return len(read) > 0
}

// ForgetMachines ends that: a later destroy may have no plan, as that of a replacement.
func ForgetMachines(ctx context.Context, to PrivateWriter, diags *diag.Diagnostics) {
	diags.Append(to.SetKey(ctx, machinesKey, nil)...)
}
