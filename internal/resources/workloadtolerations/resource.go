// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

var (
	_ resource.ResourceWithConfigure      = (*workloadTolerations)(nil)
	_ resource.ResourceWithValidateConfig = (*workloadTolerations)(nil)
	_ resource.ResourceWithModifyPlan     = (*workloadTolerations)(nil)
	_ resource.ResourceWithImportState    = (*workloadTolerations)(nil)
	_ resource.ResourceWithIdentity       = (*workloadTolerations)(nil)
)

const (
	// defaultTimeout leaves a slow rollout its time.
	defaultTimeout = 20 * time.Minute
	// defaultDeleteTimeout is for writes alone.
	defaultDeleteTimeout = 10 * time.Minute
)

type workloadTolerations struct {
	managed.Resource
}

// NewResource returns the resource. The same workload can be named with or without its API version, and a
// selector be written in several ways, so that its identity changes.
func NewResource() resource.Resource {
	return &workloadTolerations{managed.Resource{Name: "workload_tolerations", IdentityChanges: true}}
}

// ValidateConfig checks what can be told without a cluster.
func (r *workloadTolerations) ValidateConfig(ctx context.Context, req resource.ValidateConfigRequest, resp *resource.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
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

// Create adds the tolerations and waits for the running pods. An error saves no
// state: the marks stay, and the next create adopts them.
func (r *workloadTolerations) Create(ctx context.Context, req resource.CreateRequest, resp *resource.CreateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.Plan) }()
	var plan model
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Create(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	if resp.Diagnostics.HasError() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cluster, ok := r.Data.ConnectedToWrite(ctx, "", &resp.Diagnostics)
	if !ok {
		return
	}
	own := managed.NewOwnership[toleration.ID](cluster)
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	if !known {
		return
	}
	if plan.ID.IsUnknown() {
		// The parts of the id were unknown at plan.
		plan.ID = types.StringValue(newID(r.Data.Owner, desired.target, desired.claim.Tolerations))
		desired.claim.Owner = plan.ID.ValueString()
	}
	desired.claim.TakeOver = true
	r.Data.Created.Store(desired.claim.Owner, true)
	if lists := r.apply(ctx, "create", desired, &resp.Diagnostics); lists != nil {
		r.save(ctx, plan, own.Hold(record.Held{}, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
	}
}

// Update makes the tolerations as planned: what is new is added beside what
// pods need, and what is no longer wanted goes when it is not needed.
func (r *workloadTolerations) Update(ctx context.Context, req resource.UpdateRequest, resp *resource.UpdateResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state, plan model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	timeout, found := plan.Timeouts.Update(ctx, defaultTimeout)
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, desired, ok := r.owned(ctx, req.Private, state, plan, &resp.Diagnostics)
	if !ok {
		return
	}
	cluster, ok := r.Data.ConnectedToWrite(ctx, own.Cluster, &resp.Diagnostics)
	if !ok {
		return
	}
	lists := r.apply(ctx, "update", desired, &resp.Diagnostics)
	if lists == nil {
		return
	}
	own.Cluster = cluster
	r.save(ctx, plan, own.Keep(toleration.IDs(desired.claim.Tolerations)).Hold(record.Held{}, lists), &resp.State, resp.Identity, resp.Private, &resp.Diagnostics)
}

// Delete gives up every entry of this generation. It waits for no taint: what
// pods still need stays behind, recorded as retained.
func (r *workloadTolerations) Delete(ctx context.Context, req resource.DeleteRequest, resp *resource.DeleteResponse) {
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, req.State) }()
	var state model
	resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
	timeout, found := state.Timeouts.Delete(ctx, defaultDeleteTimeout)
	resp.Diagnostics.Append(found...)
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	own, desired, ok := r.owned(ctx, req.Private, state, state, &resp.Diagnostics)
	if !ok {
		return
	}
	if _, ok := r.Data.ConnectedToWrite(ctx, own.Cluster, &resp.Diagnostics); !ok {
		return
	}
	desired.claim, desired.noWait = released(desired.claim), true
	r.apply(ctx, "delete", desired, &resp.Diagnostics)
}

// owned returns what an existing instance owns and what a model of it wants.
func (r *workloadTolerations) owned(ctx context.Context, private session.PrivateReader, state, plan model, diags *diag.Diagnostics) (ownership, wanted, bool) {
	if diags.HasError() {
		return ownership{}, wanted{}, false
	}
	own, err := r.ownership(ctx, private, state, diags)
	if err != nil {
		diags.Append(message.UnableTo("find out what \""+state.ID.ValueString()+"\" owns", err))
		return own, wanted{}, false
	}
	desired, known := plan.desired(ctx, own, diags)
	return own, desired, known && !diags.HasError()
}

// apply carries out what is desired, and returns the marks that the resource has then; nil where
// it has failed.
func (r *workloadTolerations) apply(ctx context.Context, verb string, desired wanted, diags *diag.Diagnostics) record.Held {
	r.Data.Keys.Register(desired.claim.Owner, desired.claim.Seal)
	// Another resource of this run may have created the ConfigMap whose last entry goes.
	desired.claim.Known = r.Data.Frees(nil, false, nil).Known
	release, err := r.Data.Cluster.Follow(ctx, true)
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return nil
	}
	defer release()
	observed, err := r.observe(ctx, desired, "", diags)
	if verb == "delete" && kube.Gone(err) {
		return record.Held{}
	}
	var done rollout.Result
	if err == nil {
		done, err = rollout.Run(ctx, r.Data.Cluster, rollout.Change{Workloads: observed.rollouts(desired)}, r.Data.Comparison)
	}
	if err != nil {
		diags.Append(explain(verb, desired, err))
		return nil
	}
	r.note(desired, observed, nil)
	if desired.claim.Release {
		r.warnRetiring(ctx, desired, diags)
	}
	return planner.HoldAll(done.Workloads)
}

// note tells the other resources of this run what running pods carry, or will carry
// by a plan.
func (r *workloadTolerations) note(desired wanted, observed observation, plan *planner.Plan) {
	var out []planner.PlannedTolerations
	for _, w := range observed.workloads {
		p := planner.PlannedTolerations{
			Ref: w.Ref, Path: w.Path, Pods: w.Pods, Wanted: desired.claim.Tolerations, Waits: !desired.noWait, Hold: w.Rolling.Hold, WayOut: w.Rolling.WayOut, Later: w.Rolling.Later,
			Before: w.Tolerations, After: w.Tolerations, Workload: w,
		}
		if plan != nil {
			for _, step := range plan.Steps {
				if step.Kind == planner.Expand && step.Workload.Ref == w.Ref {
					p.After = step.Merged.Tolerations
				}
			}
		}
		if desired.claim.Release {
			p.Wanted = nil
		}
		out = append(out, p)
	}
	r.Data.Planned.Note(desired.claim.Owner, out)
}

func (r *workloadTolerations) save(ctx context.Context, m model, own ownership, state *tfsdk.State, to *tfsdk.ResourceIdentity, private session.PrivateWriter, diags *diag.Diagnostics) {
	own.Save(ctx, private, diags)
	diags.Append(state.Set(ctx, m)...)
	if to != nil {
		id, found := identityOf(ctx, m)
		diags.Append(found...)
		diags.Append(to.Set(ctx, id)...)
	}
}
