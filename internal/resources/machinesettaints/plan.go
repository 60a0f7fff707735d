// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/tfsdk"
	"github.com/hashicorp/terraform-plugin-framework/types"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// ModifyPlan completes the plan and reports what it would do to machines and pods. It
// runs again at apply: nothing that it learns from the cluster may go into the plan
// itself.
func (r *machineSetTaints) ModifyPlan(ctx context.Context, req resource.ModifyPlanRequest, resp *resource.ModifyPlanResponse) {
	if r.Data == nil {
		return
	}
	defer func() { r.Data.Distinguish(ctx, &resp.Diagnostics, resp.Plan, req.State) }()
	own := managed.LoadOwnership[taint.ID](ctx, req.Private, session.IDOf(ctx, req.State), &resp.Diagnostics)
	var state, plan model
	creating := req.State.Raw.IsNull()
	if !creating {
		resp.Diagnostics.Append(req.State.Get(ctx, &state)...)
		r.Data.NoteDestroy(ctx, req.Plan, "machine_set_taints", state.freshID, &resp.Diagnostics)
		var err error
		if own, err = r.ownership(ctx, req.Private, state, &resp.Diagnostics); err != nil {
			r.Data.Unreadable("the MachineSets of \""+state.ID.ValueString()+"\"", err, &resp.Diagnostics)
			return
		}
		own.RefuseImportedTwice(r.Data, state.ID.ValueString(), req.Plan.Raw.IsNull(), &resp.Diagnostics)
	}
	before, _ := state.desired(ctx, own, &resp.Diagnostics)
	if req.Plan.Raw.IsNull() {
		before.Claim.Release = true
		before.known = r.Data.Join(ctx, resp.Private, &resp.Diagnostics, state.ToleratedBy)
		session.ForgetReplaced(ctx, resp.Private, &resp.Diagnostics)
		r.preview(ctx, state, before.retire(before), own, &resp.Diagnostics)
		return
	}
	resp.Diagnostics.Append(req.Plan.Get(ctx, &plan)...)
	if resp.Diagnostics.HasError() {
		return
	}
	if !creating {
		plan.keepWording(ctx, state)
		if settled(state, before, own) && plan.asksNothing(ctx, state, req.State, resp) {
			r.claimUnchanged(ctx, before, own, &resp.Diagnostics)
			return
		}
	}
	r.complete(ctx, plan, state, before, own, creating, resp)
}

// complete plans what is out of sync, and previews it.
func (r *machineSetTaints) complete(ctx context.Context, plan, state model, before wanted, own ownership, creating bool, resp *resource.ModifyPlanResponse) {
	desired, known := plan.desired(ctx, own, &resp.Diagnostics)
	plan.Machines, plan.RolloutState = types.MapUnknown(types.StringType), types.StringValue(stateComplete)
	switch {
	case !known:
	case desired.Rollout.Strategy != machineset.TemplateOnly:
		// In sync after an apply.
		plan.Machines = noMachines()
	case !creating && settled(state, before, own) && desired.asksTheSame(before):
		// Nothing is written: it can be for other limits or timeouts alone.
		plan.Machines = state.Machines
	}
	if creating && known {
		plan.ID = types.StringValue(newID(r.Data.Owner, desired))
		desired.Claim.Owner, desired.Claim.TakeOver = plan.ID.ValueString(), true
		r.Data.NoteCreate("machine_set_taints", plan.ID.ValueString(), &resp.Diagnostics)
	}
	resp.Diagnostics.Append(resp.Plan.Set(ctx, plan)...)
	if known && !resp.Diagnostics.HasError() {
		desired.known = r.Data.Join(ctx, resp.Private, &resp.Diagnostics, state.ToleratedBy, plan.ToleratedBy)
		session.NoteReplaced(ctx, creating, own.Generation, resp.Private, &resp.Diagnostics)
		desired.links = session.NewLinks([]types.Set{plan.ToleratedBy, state.ToleratedBy})
		desired.replaces = !creating && (!plan.Name.Equal(state.Name) || !plan.Namespace.Equal(state.Namespace))
		r.preview(ctx, plan, desired.retire(before), own, &resp.Diagnostics)
	}
}

// asksNothing reports that a plan is at most the state in other words, and plans the state
// then.
func (m model) asksNothing(ctx context.Context, state model, prior tfsdk.State, resp *resource.ModifyPlanResponse) bool {
	// How machines differ is not known once something changes, and only then.
	m.Machines, m.RolloutState = state.Machines, state.RolloutState
	resp.Diagnostics.Append(resp.Plan.Set(ctx, m)...)
	return !resp.Diagnostics.HasError() && resp.Plan.Raw.Equal(prior.Raw)
}

// asksTheSame reports that machines are asked for no more and no less.
func (w wanted) asksTheSame(before wanted) bool {
	return w.target.String() == before.target.String() && w.Rollout.Strategy == before.Rollout.Strategy && slices.Equal(w.Claim.Taints, before.Claim.Taints)
}

// settled reports that a state asks for nothing: no template differs and no machine, or
// those machines that do are left as they are.
func settled(state model, desired wanted, own ownership) bool {
	return state.RolloutState.ValueString() != stateInterrupted && !own.Drifted &&
		(len(state.Machines.Elements()) == 0 || desired.Rollout.Strategy == machineset.TemplateOnly)
}

// preview reports what the change would do, as diagnostics.
func (r *machineSetTaints) preview(ctx context.Context, m model, desired wanted, own ownership, diags *diag.Diagnostics) {
	budget, budgetKnown := tfschema.BudgetOf(ctx, m.Evictions, r.Data.Evictions, diags)
	strict := budgetKnown && budget.Set()
	_, sets, err := r.observe(ctx, own.Cluster, desired.target, diags)
	if diags.HasError() {
		return
	}
	if err != nil {
		session.NoPreview("evictions on "+desired.target.Place(), "evicts", err, strict, r.Data, diags)
		return
	}
	meant := concerned(sets, desired)
	if desired.Claim.Release {
		message.WarnLeftBehind(desired.changes(sets), diags)
	} else {
		r.claim(desired, own, meant, diags)
		warnTarget(desired, meant, diags)
		r.Data.WarnLinks(ctx, session.Linking{IDs: desired.links, Known: desired.known, Place: desired.target.Place(), Taints: desired.Claim.Taints}, diags)
	}
	message.WarnUnnamed(planner.UnnamedInSets(desired.changes(sets), &desired.target, desired.named(), nil), "MachineSet", diags)
	changes := false
	for _, o := range meant {
		d := desired.of(o.Set)
		effect := machineset.Plan(o, d)
		if found := refused(desired, o, d, effect.Changes()); found != nil {
			diags.Append(found)
			return
		}
		if effect.Changes() {
			message.WarnSet(o, d, effect, diags)
			changes = true
		}
	}
	if changes && !diags.HasError() {
		change := planner.Change{MachineSets: desired.changes(sets)}
		change.MachineSets.AtOnce = int(r.Data.MaxConcurrentRollouts)
		taken, after := message.AboutTakenFromSets(change.MachineSets.Affected(), desired.target.Place())
		r.Data.PreviewTaints(ctx, session.TaintChange{
			Change: change, Owner: desired.Claim.Owner, Place: desired.target.Place(), Taken: taken,
			Taints:      planner.TaintChanges{Machines: []map[string][]corev1.Taint{after}, Named: desired.named(), Known: desired.known},
			ToleratedBy: m.ToleratedBy, Strict: strict, Words: words(desired, budget, r.Data.MaxConcurrentRollouts),
		}, diags)
	}
}

// claim notes which taints the resource wants of which MachineSets.
func (r *machineSetTaints) claim(desired wanted, own ownership, meant []machineset.Observed, diags *diag.Diagnostics) {
	r.Data.ClaimSets(session.Holder(own.Generation), desired.target, desired.Claim.IDs(), nil, meant, diags)
}

func (r *machineSetTaints) claimUnchanged(ctx context.Context, desired wanted, own ownership, diags *diag.Diagnostics) {
	if _, sets, err := r.observe(ctx, own.Cluster, desired.target, diags); err == nil && !diags.HasError() {
		r.claim(desired, own, concerned(sets, desired), diags)
		for _, o := range concerned(sets, desired) {
			if o.Set.RecordErr == nil && o.Set.MarkerErr == nil {
				continue
			}
			if said := refused(desired, o, desired.of(o.Set), false); said != nil {
				// There is nothing to write, so that it stops nothing.
				diags.Append(message.AsWarning(said))
			}
		}
	}
}

// warnTarget reports that there is nothing there to taint.
func warnTarget(desired wanted, meant []machineset.Observed, diags *diag.Diagnostics) {
	switch {
	case len(meant) > 0:
	case desired.target.Selector != nil:
		diags.AddAttributeWarning(path.Root("selector"), "No MachineSet matches \""+desired.target.Selector.String()+"\": nothing is tainted",
			"MachineSets that match later are changed at the first apply after that. If that is not intended, check the labels (kubectl get machinesets.machine.openshift.io -n "+desired.target.Namespace+" --show-labels).")
	default:
		diags.AddAttributeError(path.Root("name"), "Unable to find "+desired.target.Place(),
			"There is no MachineSet of this name. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A).")
	}
}

// refused words why a MachineSet must not be changed; nil where it may.
func refused(w wanted, o machineset.Observed, d machineset.Desired, changes bool) diag.Diagnostic {
	if err := rollout.CheckSet(o.Set, d); err != nil {
		return explain("change", w, message.Budget{}, o.Set, err)
	}
	if !changes {
		return nil
	}
	if refusals := machineset.Refuse(o, d); len(refusals) > 0 {
		return refuse(w, o.Set, refusals)
	}
	return nil
}
