// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-log/tflog"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Change is everything that one resource wants at once.
type Change struct {
	// Labels and Nodes are nil where nodes are left alone.
	Labels    *planner.NodeLabels
	Nodes     *planner.NodeTaints
	Workloads []Tolerations
}

// Hooks are asked while a change is carried out, and can stop it; nil ones are
// not.
type Hooks struct {
	// Begin is asked with the whole plan before the first write.
	Begin func(planner.Plan) error
	// Approve is asked right before taints are written; see SwitchTaints.
	Approve func(planner.NodePlan) error
}

// WorkloadError is an error of looking at one workload.
type WorkloadError struct {
	Ref workload.Ref
	Err error
}

// Error returns the original error, which names the workload.
func (e *WorkloadError) Error() string { return e.Err.Error() }

// Unwrap returns the original error.
func (e *WorkloadError) Unwrap() error { return e.Err }

// Run carries out a change in the planner's order: labels, tolerations and pins,
// the wait for live pods, taints, and the reverse for what goes. It takes the
// first step, looks again, and asks again, so that whatever interrupts it, the
// next run goes on from what the cluster shows then. It returns the steps that it
// has made, in words.
//
// The cluster must be followed with pods meanwhile. Errors: *RefusedError,
// *ConflictError, *HoldError, *StuckError, ErrFight, those of the hooks and of
// kube.
func Run(ctx context.Context, cluster *kube.Cluster, change Change, comparison eviction.Comparison, hooks Hooks) (done []string, err error) {
	for round := 0; ; round++ {
		plan, err := look(ctx, cluster, change, comparison)
		if err != nil {
			return done, err
		}
		if err := plan.obstacle(); err != nil {
			return done, err
		}
		if round > maxRounds*(len(change.Workloads)+1) {
			return done, ErrFight
		}
		if len(plan.Steps) == 0 {
			if err := plan.settle(ctx, cluster, change); !errors.Is(err, errOverwritten) {
				return done, err
			}
			continue
		}
		if round == 0 {
			if err := plan.begin(hooks); err != nil {
				return done, err
			}
		}
		step := plan.Steps[0]
		if step.Kind == planner.Switched {
			// The planner has seen live pods alone: what makes them may be behind.
			if err := plan.settle(ctx, cluster, change); errors.Is(err, errOverwritten) {
				continue
			} else if err != nil {
				return done, err
			}
		}
		tflog.Debug(ctx, "next step", map[string]any{"step": step.String()})
		// Where somebody has taken it out of the template again, the next round
		// writes it again.
		if err := take(ctx, cluster, change, step, comparison, hooks); err != nil && !errors.Is(err, errOverwritten) {
			return done, err
		}
		if words := step.String(); !slices.Contains(done, words) {
			done = append(done, words)
		}
	}
}

// looked is a plan and the observation that it was made from.
type looked struct {
	planner.Plan
	snapshot  *eviction.Snapshot
	workloads []planner.Tolerations
}

// look observes everything and asks the planner what is left to do. A workload
// that is gone has nothing to give up.
func look(ctx context.Context, cluster *kube.Cluster, change Change, comparison eviction.Comparison) (looked, error) {
	snapshot, err := cluster.Snapshot(ctx)
	if err != nil {
		return looked{}, err
	}
	var desired planner.Change
	if change.Labels != nil {
		desired.Labels = []planner.NodeLabels{*change.Labels}
	}
	if change.Nodes != nil {
		desired.Nodes = []planner.NodeTaints{*change.Nodes}
	}
	for _, d := range change.Workloads {
		w, err := cluster.FreshWorkload(ctx, d.Ref, d.Path)
		if gone(err) && d.Claim.Release {
			continue
		}
		if err == nil {
			err = d.unreadable(w)
		}
		if err != nil {
			return looked{}, &WorkloadError{Ref: d.Ref, Err: err}
		}
		desired.Workloads = append(desired.Workloads, d.of(w))
	}
	return looked{planner.Order(snapshot, desired, comparison), snapshot, desired.Workloads}, nil
}

// obstacle is what forbids every write.
func (l looked) obstacle() error {
	switch {
	case len(l.Refusals) > 0:
		return &RefusedError{Refusals: l.Refusals}
	case len(l.Conflicts) > 0:
		return &ConflictError{Conflicts: l.Conflicts}
	}
	return nil
}

// settle waits until the pods are as many as they shall be. All that live carry
// what is wanted by then; one that was missing a moment ago may yet be made from
// an old template, and what comes after this resource relies on it.
func (l looked) settle(ctx context.Context, cluster *kube.Cluster, change Change) error {
	for _, t := range l.workloads {
		if t.NoWait || t.Claim.Release || t.Workload.Rolling.Later || t.Workload.Rolling.Hold != "" {
			continue
		}
		d := desiredOf(change.Workloads, t.Workload)
		if err := await(ctx, cluster, d, lacking(d), true); err != nil {
			return err
		}
	}
	return nil
}

// begin asks once more before the first write: half a change is worse than none.
func (l looked) begin(hooks Hooks) error {
	for _, t := range l.workloads {
		writes := slices.ContainsFunc(l.Steps, func(s planner.Step) bool { return s.Kind == planner.Expand && s.Workload == t.Workload && s.Template() })
		if !writes || t.NoWait {
			continue
		}
		if err := holds(l.snapshot, t); err != nil {
			return err
		}
	}
	if hooks.Begin == nil {
		return nil
	}
	return hooks.Begin(l.Plan)
}

// take makes one step.
func take(ctx context.Context, cluster *kube.Cluster, change Change, step planner.Step, comparison eviction.Comparison, hooks Hooks) error {
	switch step.Kind {
	case planner.Label:
		return changeLabels(ctx, cluster, change.Labels.Adding(), step.Labels)
	case planner.Unlabel:
		return changeLabels(ctx, cluster, *change.Labels, step.Labels)
	case planner.Switched:
		approve := hooks.Approve
		if approve == nil {
			approve = func(planner.NodePlan) error { return nil }
		}
		return SwitchTaints(ctx, cluster, *change.Nodes, approve)
	}
	d := desiredOf(change.Workloads, step.Workload)
	switch {
	case step.Kind != planner.Wait:
		return edit(ctx, cluster, d, comparison)
	case step.Shed != nil:
		err := await(ctx, cluster, d, shedding(step.Shed), false)
		if late := new(StuckError); errors.As(err, &late) {
			late.Shed = true
		}
		return err
	}
	return await(ctx, cluster, d, lacking(d), true)
}

// changeLabels writes the labels of several nodes, merged again from each node
// as it is read for the write.
func changeLabels(ctx context.Context, cluster *kube.Cluster, desired planner.NodeLabels, plan planner.LabelPlan) error {
	names := make([]string, len(plan.Switches))
	for i, s := range plan.Switches {
		names[i] = s.Node.Name
	}
	_, err := writeAll(ctx, names, func(name string) (*eviction.Node, error) {
		node, err := cluster.EditNode(ctx, name, func(n *eviction.Node) (*kube.NodeEdit, error) {
			merged := planner.MergeLabels(n, desired)
			if refusals := planner.RefuseLabels(n, merged, desired); len(refusals) > 0 {
				return nil, &RefusedError{Refusals: refusals}
			}
			if !merged.Changed {
				return nil, nil
			}
			return &kube.NodeEdit{Labels: &kube.LabelEdit{Changes: merged.Changes, Record: merged.Record}}, nil
		})
		if errors.Is(err, kube.ErrNotFound) {
			return nil, nil
		}
		return node, err
	})
	return err
}
