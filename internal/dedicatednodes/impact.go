// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package dedicatednodes

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/fw"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
)

// impact is the steps of a plan that may make pods leave, and all that they begin to do.
type impact struct {
	steps []planner.Step
	whole *eviction.Report
}

func impactOf(plan planner.Plan) impact {
	var out impact
	var reports []*eviction.Report
	for _, step := range plan.Steps {
		if report := reportOf(step); report != nil || step.Switch != nil {
			out.steps, reports = append(out.steps, step), append(reports, report)
		}
	}
	out.whole = eviction.Join(reports...)
	return out
}

// refusedBy is what forbids a rollout of machines by what runs on them.
func refusedBy(plan planner.Plan) *fw.RefusedSet {
	for _, step := range plan.Steps {
		if step.Switch != nil && step.Switch.Begins.Refused != nil {
			return &fw.RefusedSet{Set: step.Switch.Begins.Refused, Refusals: step.Switch.Begins.Refusals}
		}
	}
	return nil
}

// about words what the whole is about: the taints where these make pods leave or strand
// them, and else the first step that makes them leave. What more of it there is, whose pods
// are counted as well, is named beside it.
func (i impact) about(w wanted, done bool) fw.Subject {
	pins := 0
	for _, s := range i.steps {
		if s.Kind == planner.Expand && moves(s) {
			pins++
		}
	}
	switched := slices.IndexFunc(i.steps, func(s planner.Step) bool { return s.Kind == planner.Switched && (moves(s) || strands(s)) })
	cause := switched
	if cause < 0 {
		cause = slices.IndexFunc(i.steps, moves)
	}
	if cause < 0 {
		return fw.Subject{}
	}
	about := w.aboutStep(done, i.steps[cause])
	switch {
	case pins > 0 && switched >= 0:
		about.Where += " and pin " + fw.Count(pins, "DaemonSet")
		about.Instead = "Add tolerations to the pods that are meant to stay, choose other nodes, leave out pin for DaemonSets whose pods are to stay elsewhere"
	case pins > 0:
		if pins > 1 {
			about.Where += fmt.Sprintf(" and %d more", pins-1)
		}
		// Tolerations keep nobody.
		about.Instead = "Choose other nodes, leave out pin for DaemonSets whose pods are to stay elsewhere"
	}
	return about
}

// moves says that a step may make pods leave.
func moves(step planner.Step) bool {
	report := reportOf(step)
	return report != nil && slices.ContainsFunc(report.Pods, func(v eviction.PodVerdict) bool { return v.Verdict != eviction.Stays })
}

// strands says that a step strands pods: those stay, where its taints evict nobody.
func strands(step planner.Step) bool {
	report := reportOf(step)
	return report != nil && len(report.Stranded()) > 0
}

func reportOf(step planner.Step) *eviction.Report {
	if step.Switch != nil {
		return step.Switch.Begins.Report
	}
	return step.Report
}

// aboutStep words what a step is about: what is done, or what would have been.
func (w wanted) aboutStep(done bool, step planner.Step) fw.Subject {
	if step.Switch != nil {
		return w.aboutRollout(done, step.Switch.Affected)
	}
	if step.Kind == planner.Switched {
		return w.about(done, step.Nodes)
	}
	if step.Kind == planner.Expand {
		return aboutPin(done, step)
	}
	about := fw.Subject{Verb: "apply", Preposition: "to", What: step.Labels.Words(), Where: fw.Where(w.labels.Target, len(step.Labels.Switches)), Many: len(step.Labels.Switches) != 1}
	switch {
	case step.Kind == planner.Unlabel && done:
		about.Verb, about.Preposition = "Removing", "from"
	case step.Kind == planner.Unlabel:
		about.Verb, about.Preposition = "remove", "from"
	case done:
		about.Verb = "Applying"
	}
	return about
}

// aboutPin words what new labels that a template requires are about.
func aboutPin(done bool, step planner.Step) fw.Subject {
	var pins []string
	for key, value := range step.Pins.Changes {
		if value != nil {
			pins = append(pins, key+"="+*value)
		}
	}
	slices.Sort(pins)
	return fw.Subject{Verb: map[bool]string{false: "add", true: "Adding"}[done], What: "node selector " + strings.Join(pins, ","), Preposition: "to", Where: step.Workload.Title()}
}

// aboutRollout words what a rollout of machines is about.
func (w wanted) aboutRollout(done bool, all []machineset.Affected) fw.Subject {
	verb := map[bool]string{false: "apply", true: "Applying"}[done]
	if w.releases() {
		verb = map[bool]string{false: "remove", true: "Removing"}[done]
	}
	where := w.nodes.Target.MachineSets.Place()
	if len(all) == 1 {
		where = all[0].Set.Title()
	}
	about := fw.AboutSets(verb, all, where)
	if w.releases() {
		about.Preposition = "from"
	}
	about.Rescue = "name their workload in workloads of this resource"
	return about
}

// about words what a change of taints is about.
func (w wanted) about(done bool, plan planner.NodePlan) fw.Subject {
	verb, preposition := "apply", "to"
	if done {
		verb = "Applying"
	}
	about := fw.About(verb, preposition, w.nodes.Target, plan)
	about.Rescue = "name their workload in workloads of this resource"
	return about
}

// warnEvictions says which pods leave by the labels and the taints, and refuses it where
// the budget does not allow it.
func (r *dedicatedNodes) warnEvictions(desired wanted, plan planner.Plan, budget fw.Budget, ours bool, diags *diag.Diagnostics) {
	all := impactOf(plan)
	if err := refusedBy(plan); err != nil {
		diags.Append(err.Diagnostic(machineSets, desired.nodes.Target.MachineSets))
		return
	}
	if violations := budget.Check(all.whole); budget.Set() && len(violations) > 0 {
		over := &fw.Exceeded{Violations: violations, Subject: all.about(desired, false), Report: all.whole, Ours: ours}
		diags.Append(over.Diagnostic())
		return
	}
	for _, step := range all.steps {
		about := desired.aboutStep(true, step)
		about.RefusesStranded = !budget.EvictStranded
		summary, detail := fw.Preview(about, step.Report)
		if step.Switch != nil {
			summary, detail = fw.RolloutCost(about, step.Switch.Affected, int(r.Data.MaxConcurrentRollouts), summary, detail)
			fw.WarnDeadlocks(about.Where, step.Switch.Impact.Deadlocks, diags)
		}
		if summary != "" {
			diags.AddWarning(summary, detail)
		}
	}
}

// hooks check the change against the pods that run right now: before the first
// write of all, with the tolerations counted that come before the taints, and
// again right before the first taint.
func (r *dedicatedNodes) hooks(ctx context.Context, m model, desired wanted, budget fw.Budget) rollout.Hooks {
	ours, looked := !m.Evictions.IsNull(), false
	return rollout.Hooks{
		Begin: func(plan planner.Plan) error {
			all := impactOf(plan)
			if err := refusedBy(plan); err != nil {
				return err
			}
			return budget.Allow(all.whole, all.about(desired, false), path.Root("workloads"), ours)
		},
		Approve: func(plan planner.NodePlan) error {
			if plan.Harmless() {
				return nil
			}
			if looked {
				// Nodes have come since: their pods may not have come by the watch yet.
				if err := r.Data.Cluster.RelistPods(ctx); err != nil {
					return err
				}
			}
			looked = true
			snapshot, err := r.Data.Cluster.SnapshotToDecide(ctx)
			if err != nil {
				return err
			}
			about := desired.about(false, plan)
			about.Began = true
			return budget.Allow(eviction.Evaluate(snapshot, plan.Change(), r.Data.Comparison), about, path.Root("workloads"), ours)
		},
	}
}
