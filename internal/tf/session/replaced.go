// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"slices"
	"sync"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// replacement is in the private state of the plan of a replacement.
const replacement planFlag = "replaced"

// NoteReplaced notes in the plan of a create whether it is half of a replacement: then the private state
// is that of what is replaced, with its generation. Terraform gives the half that destroys the same
// private state (hashicorp/terraform internal/plans/changes.go, ResourceInstanceChange.Simplify). The half that
// creates may bring the taints that pods need retired tolerations for: these are judged when it has.
func NoteReplaced(ctx context.Context, is bool, to PrivateWriter, diags *diag.Diagnostics) {
	replacement.set(ctx, is, to, diags)
}

// deferred are the taints that replacements of a run have taken away, and whose tolerations the half
// that creates judges.
type deferred struct {
	mu    sync.Mutex
	named []taint.ID
}

func (d *deferred) add(named []taint.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.named = append(d.named, named...)
}

func (d *deferred) with(named []taint.ID) []taint.ID {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Concat(d.named, named)
}
