// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
)

// Memory is what a plan leaves in the private state for its apply. Resources that write no taints leave nothing.
type Memory struct {
	// Known proves the tolerations that others have left for the taints.
	Known []record.Seal
	// MachinesPlanned is set where the plan has read the Machines. See NoteMachines.
	MachinesPlanned bool
	// Replaced is set for a destroy that is half of a replacement. See NoteReplaced.
	Replaced bool
}

// Recall reads it.
func Recall(ctx context.Context, from PrivateReader, diags *diag.Diagnostics) Memory {
	return Memory{Known: remembered(ctx, from, diags), MachinesPlanned: machinesRead.isSet(ctx, from, diags), Replaced: replacement.isSet(ctx, from, diags)}
}

// Forget ends what is about one plan alone: a later destroy may have none, as that of a replacement.
func Forget(ctx context.Context, to PrivateWriter, diags *diag.Diagnostics) {
	machinesRead.set(ctx, false, to, diags)
	replacement.set(ctx, false, to, diags)
}
