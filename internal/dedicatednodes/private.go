// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// ownership is what the resource remembers beside its state.
type ownership = fw.Ownership[taint.ID]

// ownership loads the private state of an existing instance. Where it is lost,
// because an update was killed, the marks with the state's id are ours. The error
// is that of reading the cluster for it.
func (r *dedicatedNodes) ownership(ctx context.Context, private fw.PrivateReader, state model, diags *diag.Diagnostics) (ownership, error) {
	own := fw.LoadOwnership[taint.ID](ctx, private, diags)
	if own.Generation != "" || diags.HasError() {
		return own, nil
	}
	desired, known := state.desired(ctx, own, diags)
	if !known {
		return own, nil
	}
	observed, err := r.observe(ctx, desired, "", diags)
	if err != nil || diags.HasError() {
		return own, err
	}
	return recovered(desired, observed, diags), nil
}

// recovered finds out again what a private state held that is lost.
func recovered(desired wanted, observed observation, diags *diag.Diagnostics) ownership {
	generation := ""
	look := func(owner, found string) {
		if owner == desired.owner() {
			generation = found
		}
	}
	for _, p := range observed.policies {
		if p != nil && p.Err == nil {
			look(p.Owner, p.Generation)
		}
	}
	for _, s := range observed.members {
		for _, mark := range s.workload.Record {
			look(mark.Owner, mark.Generation)
		}
		for _, mark := range s.workload.LabelRecord {
			look(mark.Owner, mark.Generation)
		}
	}
	for _, n := range observed.nodes {
		for _, mark := range n.LabelRecord {
			look(mark.Owner, mark.Generation)
		}
		for _, mark := range n.Record {
			look(mark.Owner, mark.Generation)
		}
	}
	for _, o := range observed.sets {
		for _, mark := range o.Set.Record {
			look(mark.Owner, mark.Generation)
		}
		for _, mark := range o.Set.LabelRecord {
			look(mark.Owner, mark.Generation)
		}
	}
	if generation == "" {
		diags.Append(fw.NotThisCluster("Neither a node, a MachineSet nor a workload", desired.owner()))
	}
	return fw.RecoverOwnership(generation, taint.IDs(desired.nodes.Claim.Taints))
}
