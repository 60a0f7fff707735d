// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// machinesRead is in the private state of a plan that has read OpenShift's Machines.
const machinesRead planFlag = "machines"

// planFlag is a key of the private state of a plan that is true if it is there.
type planFlag string

func (f planFlag) set(ctx context.Context, is bool, to PrivateWriter, diags *diag.Diagnostics) {
	var value []byte
	if is {
		value = []byte("true")
	}
	diags.Append(to.SetKey(ctx, string(f), value)...)
}

func (f planFlag) isSet(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) bool {
	value, found := from.GetKey(ctx, string(f))
	diags.Append(found...)
	return len(value) > 0
}

// NoteMachines notes in a plan whether it has read the Machines, and MachineSets where they matter, as
// WithMachines has added them. An apply whose credentials may not read them would change less than
// planned.
func NoteMachines(ctx context.Context, taints planner.NodeTaints, to PrivateWriter, diags *diag.Diagnostics) {
	machinesRead.set(ctx, taints.Machines != nil && !taints.SetsUnread, to, diags)
}
