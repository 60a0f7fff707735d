// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package cyclemachineset

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/terraform-plugin-framework/action"
	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/session"
)

var (
	_ action.ActionWithValidateConfig = (*cycleMachineSet)(nil)
	_ managed.ActionModel[wanted]     = model{}
)

// defaultTimeout leaves machines their time: a drain that was refused is tried again
// after ten minutes at worst, and a machine takes as long to come.
const defaultTimeout = 60 * time.Minute

type cycleMachineSet struct {
	managed.Action[model, wanted]
}

// NewAction returns the action.
func NewAction() action.Action {
	a := &cycleMachineSet{}
	a.Type, a.Name = a, "cycle_machine_set"
	return a
}

// ValidateConfig refuses parameters of another strategy.
func (*cycleMachineSet) ValidateConfig(ctx context.Context, req action.ValidateConfigRequest, resp *action.ValidateConfigResponse) {
	var config model
	resp.Diagnostics.Append(req.Config.Get(ctx, &config)...)
	if !resp.Diagnostics.HasError() {
		tfschema.RefuseRolloutParameters(ctx, path.Root("rollout"), config.Rollout, &resp.Diagnostics)
	}
}

// Run replaces the machines.
func (a *cycleMachineSet) Run(ctx context.Context, w wanted, say func(string), diags *diag.Diagnostics) {
	if err := a.cycle(ctx, w, func(format string, args ...any) { say(fmt.Sprintf(format, args...)) }); err != nil {
		diags.Append(explain(w, err))
	}
}

// cycle replaces the machines when the MachineSet's turn has come; the clock starts
// then.
func (a *cycleMachineSet) cycle(ctx context.Context, w wanted, say func(string, ...any)) error {
	release, err := a.Data.Cluster.FollowMachines(ctx)
	if err != nil {
		return err
	}
	defer release()
	began := false
	_, err = rollout.Run(ctx, a.Data.Cluster, rollout.Request{
		Owner: w.Claim.Owner, MachineSets: a.sets(w), Limits: w.limits.Limits,
		Machines: rollout.Machines{
			Slots: &a.Data.Rollouts, Timeout: w.timeout,
			Waits: func() {
				say("waiting for another rollout to end: at most %d at a time (max_concurrent_rollouts)", a.Data.MaxConcurrentRollouts)
			},
			Hooks: rollout.MachineHooks{
				Approve: func(o machineset.Observed) error {
					if err := refused(o, w); err != nil {
						return err
					}
					began = true
					say("%s", beginning(o, w))
					return nil
				},
				Writing: func(i machineset.Intent) {
					if what := words(i); what != "" {
						say("%s", what)
					}
				},
				Progress: func(waiting string) { say("waiting for machines: %s", waiting) },
			},
		},
	}, a.Data.Comparison)
	switch {
	case err != nil:
		return err
	case began:
		say("all machines of %s are replaced", w.title())
	default:
		say("%s has no machines", w.title())
	}
	return nil
}

// sets is what the action wants of its MachineSet.
func (a *cycleMachineSet) sets(w wanted) *planner.DesiredSets {
	return &planner.DesiredSets{Target: w.target, Desired: w.Desired, AtOnce: int(a.Data.MaxConcurrentRollouts)}
}

// beginning reports what is about to be done.
func beginning(o machineset.Observed, w wanted) string {
	e := machineset.Plan(o, w.Desired)
	if m := e.Interrupted; m != nil {
		return fmt.Sprintf("continuing the rollout of %s that began at %s. %s", o.Set.Title(), m.Began(), message.Ahead(o, w.Desired, "left to replace"))
	}
	return fmt.Sprintf("replacing %s of %s, %s", message.Count(len(e.Stale), "machine"), o.Set.Title(), w.Rollout.Strategy)
}

// words report what is written, and with which numbers it was decided; nothing of what
// changes no machine.
func words(i machineset.Intent) string {
	switch {
	case i.Kind == machineset.Delete:
		return "deleting " + i.Machine.Name + ": " + i.Reason
	case i.Kind == machineset.Choose:
		return "choosing " + i.Machine.Name + " to go when the MachineSet is scaled down: " + i.Reason
	case i.Set != nil && i.Set.Replicas != nil:
		return "scaling to " + message.Count(*i.Set.Replicas, "machine")
	}
	return ""
}

// find returns the MachineSet that is meant.
func (a *cycleMachineSet) find(ctx context.Context, w wanted, diags *diag.Diagnostics) (machineset.Observed, bool) {
	strict := w.limits.Set()
	if _, err := a.Data.Identify(ctx, "", diags); err != nil {
		session.NoPreview("evictions on "+w.title(), "evicts", err, strict, a.Data, diags)
		return machineset.Observed{}, false
	}
	if _, err := a.Data.Cluster.MachineSetsWith(ctx, w.target); err != nil {
		diags.Append(explainRead(w, err, strict, a.Data)...)
		return machineset.Observed{}, false
	}
	o, there := a.Data.Cluster.MachineSet(w.target.String())
	if !there {
		diags.Append(notThere(w))
	}
	return o, there
}
