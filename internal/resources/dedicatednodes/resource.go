// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework-validators/resourcevalidator"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
)

var (
	_ resource.ResourceWithConfigure        = (*dedicatedNodes)(nil)
	_ resource.ResourceWithConfigValidators = (*dedicatedNodes)(nil)
	_ resource.ResourceWithValidateConfig   = (*dedicatedNodes)(nil)
	_ resource.ResourceWithModifyPlan       = (*dedicatedNodes)(nil)
	_ resource.ResourceWithImportState      = (*dedicatedNodes)(nil)
	_ resource.ResourceWithIdentity         = (*dedicatedNodes)(nil)
)

type dedicatedNodes struct {
	managed.Skeleton[model, wanted, observation, taint.ID]
}

// NewResource returns the resource. Its identity changes with its nodes and taints.
func NewResource() resource.Resource {
	r := &dedicatedNodes{}
	r.Type, r.Name, r.IdentityChanges = r, kind, true
	return r
}

// ConfigValidators reports which attributes go together.
func (r *dedicatedNodes) ConfigValidators(context.Context) []resource.ConfigValidator {
	return []resource.ConfigValidator{resourcevalidator.ExactlyOneOf(path.MatchRoot("node_names"), path.MatchRoot("node_selector"), path.MatchRoot("machine_sets"))}
}

// Apply makes everything as planned, and takes away from nodes and workloads that are not meant any more what is owned
// there. A destroy gives up every entry: taints first, then tolerations
// and pins, and labels when no pod requires them any more. Taints that another object
// adopts in the same run stay, and with them the tolerations that pods need.
func (r *dedicatedNodes) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	desired := c.Want.remembering(c.Memory)
	switch c.Verb {
	case "create":
		// The destroy of what this replaces hands over to it.
		r.Data.Created.Store(desired.owner(), desired.nodes.Claim)
	case "update":
		before, _ := c.Former.Desired(ctx, c.Own, diags)
		desired = r.withLeavers(ctx, desired, before, diags).retire(before).without(before)
	case "delete":
		desired = r.withLeavers(ctx, desired, wanted{}, diags)
	}
	done, ok := r.apply(ctx, c.Verb, c.Model, desired, diags)
	switch {
	case !ok && c.Verb == "update":
		c.Own.Drifted = true
		c.Own.Save(ctx, c.Private, diags)
	case ok && c.Verb == "delete":
		r.warnOrphans(ctx, desired, diags)
	}
	if !ok || c.Verb == "delete" {
		return nil
	}
	c.Model.take(ctx, done.Steps, diags)
	return &applied{Model: c.Model, Held: r.held(ctx, desired), Lists: planner.HoldAll(done.Workloads)}
}

// take puts into the model what an apply has done.
func (m *model) take(ctx context.Context, steps []string, diags *diag.Diagnostics) {
	if steps == nil {
		steps = []string{}
	}
	list, found := types.ListValueFrom(ctx, types.StringType, steps)
	diags.Append(found...)
	m.Steps, m.Drift = list, noDrift()
}

// held returns the marks that the resource has on nodes or MachineSets after an apply, nil where
// that is not known.
func (r *dedicatedNodes) held(ctx context.Context, desired wanted) record.Held {
	held := record.Held{}
	if of := desired.sets(); of != nil {
		sets, err := r.Data.Cluster.MachineSets(ctx)
		if err != nil {
			return nil
		}
		of.Hold(sets, held)
		return held
	}
	nodes, err := r.Data.Cluster.Nodes(ctx)
	if err != nil {
		return nil
	}
	desired.nodes.Hold(nodes, held)
	desired.labels.Hold(nodes, held)
	return held
}
