// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machinesettaints

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Preview reports what the change would do to machines and pods, as diagnostics.
func (r *machineSetTaints) Preview(ctx context.Context, c change, diags *diag.Diagnostics) {
	desired := wantedBy(ctx, c, diags)
	limits, limitsKnown := tfschema.LimitsOf(ctx, c.Model.Evictions, r.Data.Evictions, diags)
	strict := limitsKnown && limits.Set()
	sets, _, err := r.Inspect(ctx, c.Model, c.Own, diags)
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
		r.claim(desired, c.Own, meant, diags)
		warnTarget(desired, meant, diags)
		r.Data.WarnLinks(ctx, session.Linking{IDs: session.NewLinks(c.Links()), Known: desired.known, Place: desired.target.Place(), Taints: desired.Claim.Taints}, diags)
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
	if !diags.HasError() {
		change := planner.Change{MachineSets: desired.changes(sets)}
		change.MachineSets.AtOnce = int(r.Data.MaxConcurrentRollouts)
		taken, after := message.AboutTakenFromSets(change.MachineSets.Affected(), desired.target.Place())
		r.Data.PreviewTaints(ctx, session.TaintChange{
			Change: change, Owner: desired.Claim.Owner, Place: desired.target.Place(), Taken: taken,
			Taints:        planner.TaintChanges{Machines: []map[string][]corev1.Taint{after}, Named: desired.named(), Known: desired.known},
			EvictsNothing: !changes, ToleratedBy: c.Model.ToleratedBy, Strict: strict, Words: words(desired, limits, r.Data.MaxConcurrentRollouts),
		}, diags)
	}
}

// claim notes which taints the resource wants of which MachineSets.
func (r *machineSetTaints) claim(desired wanted, own ownership, meant []machineset.Observed, diags *diag.Diagnostics) {
	r.Data.ClaimSets(session.Holder(own.Generation), desired.target, desired.Claim.IDs(), nil, meant, diags)
}

// Claim claims what a resource has that is not about to change. The MachineSets are known from the refresh; where they
// are not, nothing is said.
func (r *machineSetTaints) Claim(ctx context.Context, c change, known bool, diags *diag.Diagnostics) {
	if !known || diags.HasError() {
		return
	}
	sets, _, err := r.Inspect(ctx, c.Model, c.Own, diags)
	if err != nil || diags.HasError() {
		return
	}
	meant := concerned(sets, c.Want)
	r.claim(c.Want, c.Own, meant, diags)
	for _, o := range meant {
		if o.Set.RecordErr == nil && o.Set.MarkerErr == nil {
			continue
		}
		if said := refused(c.Want, o, c.Want.of(o.Set), false); said != nil {
			// There is nothing to write, so that it stops nothing.
			diags.Append(message.AsWarning(said))
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
		return explain("change", w, message.Limits{}, o.Set, err)
	}
	if !changes {
		return nil
	}
	if refusals := machineset.Refuse(o, d); len(refusals) > 0 {
		return refuse(w, o.Set, refusals)
	}
	return nil
}
