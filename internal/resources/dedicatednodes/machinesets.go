// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/attr"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var machineSetsType = map[string]attr.Type{
	"namespace": types.StringType, "name": types.StringType, "selector": types.StringType, "rollout": types.ObjectType{AttrTypes: tfschema.RolloutType},
}

// machineSets is where the object stands.
var machineSets = path.Root("machine_sets")

// interrupted is the drift of a MachineSet whose rollout has begun and not ended.
const interrupted taint.Status = "interrupted"

// sets is what is wanted of MachineSets, nil where nodes are meant themselves.
func (w wanted) sets() *planner.DesiredSets {
	if w.nodes.Target.MachineSets == nil {
		return nil
	}
	return &planner.DesiredSets{
		Target:  *w.nodes.Target.MachineSets,
		Desired: machineset.Desired{Claim: w.nodes.Claim, Rollout: w.rollout},
		Labels:  w.labels.Claim,
	}
}

// retire adds what was wanted before and is not any more.
func (w wanted) retire(before wanted) wanted {
	w.retired = slices.Clone(w.retired)
	for _, id := range before.nodes.Claim.IDs() {
		if !slices.Contains(w.nodes.Claim.IDs(), id) || w.releases() {
			w.retired = append(w.retired, id)
		}
	}
	w.shed, w.former = slices.Collect(maps.Keys(before.labels.Claim.Labels)), []planner.Target{before.nodes.Target}
	return w
}

// named returns the taints that configuration or state name.
func (w wanted) named() []taint.ID { return slices.Concat(w.nodes.Claim.IDs(), w.retired) }

// observeSets reads MachineSets where any are meant.
func (r *dedicatedNodes) observeSets(ctx context.Context, desired wanted, diags *diag.Diagnostics) ([]machineset.Observed, error) {
	if desired.nodes.Target.MachineSets == nil {
		return nil, nil
	}
	sets, err := r.Data.Cluster.MachineSetsWith(ctx, *desired.nodes.Target.MachineSets)
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(message.NoMachineAPI(err))
		return nil, nil
	}
	return sets, err
}

// changes are those of the MachineSets that are observed.
func (o observation) changes(desired wanted) planner.MachineSets {
	sets := desired.sets()
	if sets == nil {
		return planner.MachineSets{}
	}
	return sets.Changes(o.sets)
}

// possibleSets refuses what must not be written to MachineSets, and reports what there is
// nothing to do about.
func (r *dedicatedNodes) possibleSets(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	changes := observed.changes(desired)
	for _, c := range changes.Sets {
		if err := rollout.CheckSetChange(c); err != nil {
			diags.Append(explain("change", desired, err))
			return
		}
		effect, labelling := machineset.Plan(c.Observed, c.Desired), machineset.PlanLabels(c.Observed, c.Labels)
		if !effect.Changes() && len(labelling.Intents) == 0 {
			continue
		}
		// One change writes both records, one after the other.
		o, labelled := c.Observed, *c.Set
		labelled.LabelRecord = labelling.Template.Record
		o.Set = &labelled
		if refusals := machineset.Refuse(o, c.Desired); len(refusals) > 0 {
			diags.Append(message.ExplainRefusedSet(&rollout.SetRefusedError{Set: c.Set, Refusals: refusals, Labels: !effect.Changes()}, machineSets, desired.nodes.Target.MachineSets))
			return
		}
		message.WarnSet(c.Observed, c.Desired, effect, diags)
	}
	target := desired.nodes.Target.MachineSets
	if desired.releases() {
		message.WarnLeftBehind(changes, diags)
	} else {
		warnUnreadableNodes(changes, diags)
	}
	message.WarnUnnamed(planner.UnnamedInSets(changes, desired.nodes.Target.MachineSets, desired.named(), desired.shed), "MachineSet", diags)
	if target == nil || desired.releases() {
		return
	}
	r.claimSets(desired, observed, own, diags)
	switch {
	case observed.has(*target):
	case target.Selector != nil:
		diags.AddAttributeWarning(machineSets.AtName("selector"), "No MachineSet matches \""+target.Selector.String()+"\": no machine is dedicated yet",
			"This apply changes workloads and no MachineSet. MachineSets that match later are changed at the first apply after that. If that is not intended, check the labels (kubectl get machinesets.machine.openshift.io -n "+target.Namespace+" --show-labels).")
	default:
		diags.AddAttributeError(machineSets.AtName("name"), "Unable to find "+target.Place(),
			"There is no MachineSet of this name. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A).")
	}
}

// warnUnreadableNodes warns of nodes that are skipped because their record of labels is damaged.
func warnUnreadableNodes(changes planner.MachineSets, diags *diag.Diagnostics) {
	var nodes []string
	for _, c := range changes.Sets {
		nodes = append(nodes, c.Unreadable()...)
	}
	message.WarnUnreadableLabels(nodes, diags)
}

func (r *dedicatedNodes) claimSets(desired wanted, observed observation, own ownership, diags *diag.Diagnostics) {
	if target := desired.nodes.Target.MachineSets; target != nil {
		r.Data.ClaimSets(session.Holder(own.Generation), *target, desired.nodes.Claim.IDs(), desired.labels.Claim.Labels, observed.sets, diags)
	}
}

// driftOfSets notes what is out of sync on MachineSets and machines. What
// template_only keeps counts as in sync.
func (o observation) driftOfSets(desired wanted, note func(string, taint.Status)) {
	if target := desired.nodes.Target.MachineSets; target != nil && target.Selector == nil && !o.has(*target) {
		note("machineset/"+target.String(), taint.Missing)
	}
	for _, c := range o.changes(desired).Sets {
		about := "machineset/" + c.Set.Key()
		effect, labelling := machineset.Plan(c.Observed, c.Desired), machineset.PlanLabels(c.Observed, c.Labels)
		// A record that is to be written anew is no drift.
		if len(effect.Template.Deviations)+len(effect.Template.Conflicts) > 0 || len(labelling.Template.Changes)+len(labelling.Conflicts) > 0 {
			note(about, taint.Different)
		}
		if effect.Interrupted != nil {
			note(about, interrupted)
		}
		for _, name := range slices.Sorted(maps.Keys(labelling.Machines)) {
			note("machine/"+name, taint.Missing)
		}
		if c.Desired.Rollout.Strategy == machineset.TemplateOnly {
			continue
		}
		for name, status := range machineset.Deviations(c.Observed, c.Desired) {
			note("machine/"+name, status)
		}
	}
}

// has reports whether a MachineSet that is meant is there.
func (o observation) has(target machineset.Target) bool {
	return slices.ContainsFunc(o.sets, func(one machineset.Observed) bool { return target.Matches(one.Set) })
}

// explainSets words an error that is about MachineSets, nil for others.
func explainSets(verb string, desired wanted, goesOn string, err error) diag.Diagnostic {
	refused, conflict, labelled, about := new(rollout.SetRefusedError), new(rollout.SetConflictError), new(rollout.LabelConflictError), new(rollout.SetError)
	gone, stopped := new(rollout.SetGoneError), new(rollout.StoppedError)
	switch {
	case errors.As(err, &refused):
		return message.ExplainRefusedSet(refused, machineSets, desired.nodes.Target.MachineSets)
	case errors.As(err, &conflict):
		return message.ExplainSetConflict(desired.owner(), conflict)
	case errors.As(err, &labelled):
		return message.ExplainLabelConflict(desired.owner(), labelled)
	case errors.Is(err, kube.ErrNoMachineAPI):
		return message.NoMachineAPI(err)
	case errors.As(err, &about):
		return message.ExplainMachines("Unable to "+verb+" the dedication of the nodes of "+about.Set.Title(), goesOn, err)
	case errors.As(err, &gone), errors.As(err, &stopped):
		return message.ExplainMachines("Unable to "+verb+" the dedication of "+desired.place(), goesOn, err)
	}
	return nil
}
