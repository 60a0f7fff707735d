// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
)

// StepWords are how a resource words the steps of its plan.
type StepWords struct {
	message.Limits
	// About reports what steps do, or would have done.
	About func(doing bool, steps []planner.Step) message.Subject
	// Rescue is the attribute that could save stranded pods.
	Rescue path.Path
	// Refused words that a MachineSet must not be rolled out.
	Refused func(*rollout.SetRefusedError) diag.Diagnostic
	// AtOnce is how many MachineSets roll out at the same time.
	AtOnce int
	// Replaces is set for a replacement, which destroys first: its apply finds no taint any more
	// that pods tolerate, so that pods which it strands are refused at plan.
	Replaces bool
	// Exceeded returns the limits of other resources that the plan exceeds, nil for none.
	Exceeded func() []eviction.Excess
}

// about words what steps are about: those that evict or strand pods, and else a rollout that preempts some.
func (w StepWords) about(doing bool, steps []planner.Step) message.Subject {
	var own []planner.Step
	rollouts := -1
	for i, step := range steps {
		if step.Report != nil || step.Switch != nil {
			own = append(own, step)
		}
		if step.Rollouts != nil && rollouts < 0 {
			rollouts = i
		}
	}
	acts := func(step planner.Step) bool { return step.Moves() || step.Strands() }
	if rollouts >= 0 && !slices.ContainsFunc(own, acts) {
		return message.AboutRollout(doing, steps[rollouts])
	}
	return w.About(doing, own)
}

// exceeds fills the error where the plan exceeds limits of other resources.
func (w StepWords) exceeds(whole *eviction.Report, over *eviction.LimitsError) bool {
	*over = eviction.LimitsError{Limits: w.Limits.Limits, Report: whole}
	if w.Exceeded != nil {
		over.Exceeded = w.Exceeded()
	}
	return len(over.Exceeded) > 0
}

// Warn reports what the steps of a plan do to pods and machines, and refuses what neither these
// nor the limits allow.
func (d *Data) Warn(ctx context.Context, w StepWords, plan planner.Plan, diags *diag.Diagnostics) {
	if set, refusals := plan.Refused(); set != nil {
		diags.Append(w.Refused(&rollout.SetRefusedError{Set: set, Refusals: refusals}))
		return
	}
	steps, whole := plan.Impact()
	for _, step := range steps {
		if step.Switch != nil {
			message.WarnDeadlocks(w.About(true, []planner.Step{step}).Where, step.Switch.Impact.Deadlocks, diags)
		}
	}
	check := w.Check
	if w.Replaces && message.CountStranded(whole) > 0 {
		check = w.Allow
	}
	if over := new(eviction.LimitsError); errors.As(check(whole), &over) || w.exceeds(whole, over) {
		over.Unmodelled = rollout.Unmodelled(ctx, d.Cluster, over.Report)
		diags.Append(w.Limits.Refused(over, w.about(false, steps), w.Rescue))
		return
	}
	for _, step := range steps {
		WarnPreempts(ctx, d.Cluster, step, diags)
		if step.Report == nil {
			continue
		}
		about := w.About(true, []planner.Step{step})
		about.RefusesStranded = !w.EvictStranded
		about.Unmodelled = rollout.Unmodelled(ctx, d.Cluster, step.Report)
		message.LogPods(ctx, about, step.Report)
		summary, detail := message.Preview(about, step.Report)
		if step.Switch != nil {
			summary, detail = message.RolloutCost(about, step.Switch.Affected, w.AtOnce, summary, detail)
		}
		if summary != "" {
			diags.AddWarning(summary, detail)
		}
	}
}

// WarnPreempts reports which pods the new ones of the rollouts preempt that a step begins.
func WarnPreempts(ctx context.Context, cluster *kube.Cluster, step planner.Step, diags *diag.Diagnostics) {
	rollouts := step.Rollouts
	if rollouts == nil || !rollouts.Preempt || rollouts.Report.Outcome().Preempted.Max == 0 {
		return
	}
	about := message.AboutRollout(true, step)
	about.Unmodelled = rollout.Unmodelled(ctx, cluster, rollouts.Report)
	message.LogPods(ctx, about, rollouts.Report)
	if summary, detail := message.Preview(about, rollouts.Report); summary != "" {
		diags.AddWarning(summary, detail)
	}
}

// TaintChange is a change of taints as a resource previews it.
type TaintChange struct {
	planner.Change
	// Owner is the id of the resource, and Place names its nodes.
	Owner, Place string
	// Taken words the taints that go, and Taints is the change as other resources count it.
	Taken  message.Subject
	Taints planner.TaintChanges
	// Changed are the names of the nodes that are written to, where no machine is replaced.
	Changed []string
	// EvictsNothing is set where no taint comes that a pod might not tolerate.
	EvictsNothing bool
	// ToleratedBy are the links, and Strict reports that a limit depends on the preview.
	ToleratedBy types.Set
	Strict      bool
	Words       StepWords
}

// PreviewTaints reports which pods the steps of a change evict and restart, with what counts that
// the same run gives to their workloads. No more of the cluster is read than the steps need.
func (d *Data) PreviewTaints(ctx context.Context, c TaintChange, diags *diag.Diagnostics) {
	c.Workloads, c.Elsewhere = d.Retained(ctx, c.Taken, c.Taints, diags)
	linked, linksKnown := tfschema.Linked(ctx, c.ToleratedBy, diags)
	// Links that are not known yet are not guessed at.
	evicts := linksKnown && !c.EvictsNothing
	if !evicts && len(c.Workloads) == 0 {
		return
	}
	unseen := func(err error) {
		if len(c.Workloads) > 0 {
			d.NoRestarts(c.Taken, err, diags)
		}
		if evicts {
			NoPreview("evictions on "+c.Place, "evicts", err, c.Strict, d, diags)
		}
	}
	seen, err := d.seenFor(ctx, c, linked)
	if err != nil {
		unseen(err)
		return
	}
	if seen == nil {
		return
	}
	c.Planned = d.Planned.Tolerations(c.Owner, linked)
	order := func(s *snapshot.Snapshot) planner.Plan { return d.OrderOf(c.Change)(d.Foreseen(s, linked)) }
	plan, seen, err := d.Ordered(ctx, c.Owner, c.Words.Limits.Limits, seen, order)
	if err != nil {
		unseen(err)
		return
	}
	d.WarnRestarts(c.Taken, seen, c.Change, plan, c.Owner, diags)
	if evicts && d.CheckLinks(linked, seen, diags) {
		d.warnLinksBlocked(linked, seen, diags)
		c.Words.Exceeded = d.Exceeded(c.Owner, seen, plan, order)
		d.Warn(ctx, c.Words, plan, diags)
	}
}

// OrderOf returns how the steps of a change are put in order.
func (d *Data) OrderOf(change planner.Change) func(*snapshot.Snapshot) planner.Plan {
	return func(s *snapshot.Snapshot) planner.Plan { return planner.Order(s, change, d.Comparison) }
}

// Explain words that the limits do not allow steps; nil for other errors. Later reports that
// other resources of the apply may have written before, whatever this one has.
func (w StepWords) Explain(err error, later bool) diag.Diagnostic {
	over := new(rollout.LimitsError)
	if !errors.As(err, &over) {
		return nil
	}
	about := w.about(false, over.Steps)
	about.Began = over.Began || later
	return w.Limits.Refused(over.LimitsError, about, w.Rescue)
}
