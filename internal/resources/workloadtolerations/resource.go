// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

var (
	_ resource.ResourceWithConfigure      = (*workloadTolerations)(nil)
	_ resource.ResourceWithValidateConfig = (*workloadTolerations)(nil)
	_ resource.ResourceWithModifyPlan     = (*workloadTolerations)(nil)
	_ resource.ResourceWithImportState    = (*workloadTolerations)(nil)
	_ resource.ResourceWithIdentity       = (*workloadTolerations)(nil)
)

// name is that of the resource.
const name = "workload_tolerations"

type workloadTolerations struct {
	managed.Skeleton[model, wanted, observation, toleration.ID]
}

// NewResource returns the resource. The same workload can be named with or without its API version, and a
// selector be written in several ways, so that its identity changes.
func NewResource() resource.Resource {
	r := &workloadTolerations{}
	r.Type, r.Name, r.IdentityChanges = r, name, true
	return r
}

// ValidateConfig checks what can be told without a cluster.
func (r *workloadTolerations) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(tfschema.Decode(ctx, req.Config.Raw, req.Config.Schema, &config)...)
	if resp.Diagnostics.HasError() {
		return
	}
	var w workloadModel
	if !config.Workload.IsNull() && !config.Workload.IsUnknown() && !config.Workload.As(ctx, &w, objectAsIs).HasError() {
		name, selector := w.Name, w.Selector
		if known := !name.IsUnknown() && !selector.IsUnknown(); known && name.IsNull() == selector.IsNull() {
			resp.Diagnostics.AddAttributeError(path.Root("workload"), "Unable to determine which workload is meant",
				"Exactly one of workload.name and workload.selector must be set.")
		}
	}
	where, known := config.target(ctx, &resp.Diagnostics)
	tfschema.WarnKeyless(ctx, whose(where, known), config.Tolerations, path.Root("tolerations"), &resp.Diagnostics)
}

// Apply makes the tolerations as planned, and waits for the running pods: what is new is added beside what pods need,
// and what is no longer wanted goes when it is not needed. A destroy waits for nothing: what pods still need stays
// behind, recorded as retained.
func (r *workloadTolerations) Apply(ctx context.Context, c change, diags *diag.Diagnostics) *applied {
	desired := c.Want
	r.Data.Keys.Register(desired.claim.Owner, desired.claim.Seal)
	// Another resource of this run may have created the ConfigMap whose last entry goes.
	desired.claim.Known = r.Data.RetainedClaim(nil, false, nil).Known
	release, err := r.Data.Cluster.Follow(ctx, true)
	if err != nil {
		diags.Append(explain(c.Verb, desired, err))
		return nil
	}
	defer release()
	observed, err := r.observe(ctx, desired, "", diags)
	if c.Verb == "delete" && kube.Gone(err) {
		return nil
	}
	var done rollout.Result
	if err == nil {
		done, err = rollout.Run(ctx, r.Data.Cluster, rollout.Request{Workloads: observed.rollouts(desired)}, r.Data.Comparison)
	}
	if err != nil {
		diags.Append(explain(c.Verb, desired, err))
		return nil
	}
	r.note(desired, observed, nil)
	if desired.claim.Release {
		r.warnRetiring(ctx, desired, diags)
	}
	return &applied{Model: c.Model, Held: record.Held{}, Lists: planner.HoldAll(done.Workloads)}
}

// note tells the other resources of this run what running pods carry, or will carry
// by a plan.
func (r *workloadTolerations) note(desired wanted, observed observation, plan *planner.Plan) {
	var out []planner.PlannedTolerations
	for _, w := range observed.workloads {
		p := planner.PlannedTolerations{
			Ref: w.Ref, Path: w.Path, Pods: w.Pods, Wanted: desired.claim.Tolerations, Waits: !desired.noWait, Hold: w.Rolling.Hold, Below: w.Rolling.Below, WayOut: w.Rolling.WayOut, Later: w.Rolling.Later,
			Before: w.Tolerations, After: plan.After(w), Workload: w,
		}
		if desired.claim.Release {
			p.Wanted = nil
		}
		out = append(out, p)
	}
	r.Data.Planned.Note(desired.claim.Owner, out)
}
