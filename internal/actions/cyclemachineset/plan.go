// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

// Preview reports what the action would do, and refuses what must not be done.
func (a *cycleMachineSet) Preview(ctx context.Context, w wanted, diags *diag.Diagnostics) {
	o, there := a.find(ctx, w, diags)
	if !there {
		return
	}
	if err := refused(o, w); err != nil {
		diags.Append(explain(w, err))
		return
	}
	effect := machineset.Plan(o, w.Desired)
	if m := effect.Interrupted; m != nil {
		diags.AddWarning("The action continues an interrupted rollout of "+w.title(),
			fmt.Sprintf("It began at %s with the strategy %s, when spec.replicas was %d; now it is %d. %s. The action continues where it stopped%s.",
				m.Began(), m.Strategy, m.OriginalReplicas, o.Set.Replicas, message.Ahead(o, w.Desired, "left to replace"), message.ReplicasAtTheEnd(o.Set, effect.Strategy)))
	}
	message.WarnUnattended(o, effect.Strategy, diags)
	if warnings := machineset.Warnings(o, w.Desired); len(warnings) > 0 {
		diags.AddWarning(fmt.Sprintf("The rollout of %s may not finish by itself", w.title()), "  "+strings.Join(warnings, "\n  "))
	}
	if len(effect.Stale) == 0 {
		return
	}
	var plan planner.Plan
	snapshot, err := a.Data.Cluster.Snapshot(ctx)
	if err == nil {
		plan, _, err = rollout.Ordered(ctx, a.Data.Cluster, snapshot, a.Data.OrderOf(planner.Change{MachineSets: a.sets(w).Changes([]machineset.Observed{o})}))
	}
	if err != nil {
		session.NoPreview("evictions on "+w.title(), "evicts", err, w.limits.Set(), a.Data, diags)
		return
	}
	for _, step := range plan.Steps {
		a.consequences(ctx, w, step, diags)
	}
}

// consequences reports which pods the rollout evicts, and refuses it where what runs on the
// machines or the limits do not allow it.
func (a *cycleMachineSet) consequences(ctx context.Context, w wanted, step planner.Step, diags *diag.Diagnostics) {
	begins, all := step.Switch.Begins, step.Switch.Affected
	if begins.Refused != nil {
		diags.Append(explain(w, refusal(begins.Refusals)))
		return
	}
	message.WarnActionDeadlocks(w.title(), step.Switch.Impact.Deadlocks, diags)
	if over := new(eviction.LimitsError); errors.As(w.limits.Check(begins.Report), &over) {
		over.Unmodelled = rollout.Unmodelled(ctx, a.Data.Cluster, over.Report)
		diags.Append(explain(w, &rollout.LimitsError{LimitsError: over, Steps: []planner.Step{step}}))
		return
	}
	about := subject("Replacing", all, w)
	about.Unmodelled = rollout.Unmodelled(ctx, a.Data.Cluster, step.Report)
	message.LogPods(ctx, about, step.Report)
	summary, detail := message.Preview(about, step.Report)
	if summary == "" {
		summary = about.String() + " evicts no pods"
	}
	summary, detail = message.RolloutCost(about, all, 1, summary, detail)
	diags.AddWarning(summary, "The template does not change. "+detail)
}

func subject(verb string, all []machineset.Affected, w wanted) message.Subject {
	stale := 0
	for _, a := range all {
		stale += len(a.Effect.Stale)
	}
	return message.Subject{Verb: verb, What: message.Count(stale, "machine"), Preposition: "of", Where: w.title()}
}

// refusedError reports that the machines must not be replaced, or not like this.
type refusedError struct {
	why string
	// at is the attribute that would need to be another one.
	at path.Path
}

// Error returns the reason.
func (e *refusedError) Error() string { return e.why }

// refusal is the first of what a rollout is refused for, and what to do instead.
func refusal(all []machineset.Refusal) *refusedError {
	at := path.Root("name")
	if first := all[0]; first.Attribute != "" {
		at = path.Root("rollout").AtName(first.Attribute)
	}
	return &refusedError{why: all[0].Why + ". " + all[0].Instead + ".", at: at}
}

// refused reports why nothing may be written; nil where it may.
func refused(o machineset.Observed, w wanted) error {
	if err := rollout.CheckSet(o.Set, w.Desired); err != nil {
		return err
	}
	if stop := machineset.Stops(o, w.Desired); stop != "" {
		return &refusedError{why: stop, at: path.Root("name")}
	}
	if o.Set.Hive && w.Rollout.Strategy != machineset.Rolling {
		return &refusedError{why: "Hive manages this MachineSet, and restores spec.replicas. Use the strategy rolling, which does not change it.", at: path.Root("rollout").AtName("strategy")}
	}
	if refusals := machineset.Refuse(o, w.Desired); len(refusals) > 0 {
		return refusal(refusals)
	}
	return nil
}

// explain words an error of the action.
func explain(w wanted, err error) diag.Diagnostic {
	over, no, held, summary := new(rollout.LimitsError), new(refusedError), new(rollout.SetRefusedError), "Unable to replace the machines of "+w.title()
	if said := message.ExplainRecord(err, w.title(), "", path.Root("name")); said != nil {
		return said
	}
	switch {
	case errors.As(err, &over):
		return w.limits.Refused(over.LimitsError, subject("replace", over.Steps[0].Switch.Affected, w), path.Root("evictions"))
	case errors.As(err, &held):
		return explain(w, refusal(held.Refusals))
	case errors.As(err, &no):
		return diag.NewAttributeErrorDiagnostic(no.at, summary, "Nothing has been written: "+no.why)
	case errors.Is(err, kube.ErrNoMachineAPI):
		return message.NoMachineAPI(err)
	}
	if gone := new(rollout.SetGoneError); errors.As(err, &gone) && !gone.Recreated {
		return notThere(w)
	}
	return message.ExplainMachines(summary, "Invoke the action again: it continues where it stopped, and replaces no machine that it has made.", err)
}

// explainRead words an error of looking at the MachineSets while Terraform plans.
func explainRead(w wanted, err error, strict bool, data *session.Data) diag.Diagnostics {
	var diags diag.Diagnostics
	if errors.Is(err, kube.ErrNoMachineAPI) {
		diags.Append(message.NoMachineAPI(err))
	} else {
		session.NoPreview("evictions on "+w.title(), "evicts", err, strict, data, &diags)
	}
	return diags
}

func notThere(w wanted) diag.Diagnostic {
	return diag.NewAttributeErrorDiagnostic(path.Root("name"), "Unable to find "+w.title(),
		"There is no MachineSet of this name. Nothing has been written. Check the name and the namespace (kubectl get machinesets.machine.openshift.io -A).")
}
