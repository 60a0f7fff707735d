// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/admission"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Request is everything that one resource or action wants together.
type Request struct {
	// Owner is the id of the resource.
	Owner string
	// Labels and Nodes are nil where nodes are left alone.
	Labels    *planner.NodeLabels
	Nodes     *planner.NodeTaints
	Workloads []Tolerations
	// MachineSets is nil where they are left alone.
	MachineSets *planner.DesiredSets
	Machines    Machines
	// Policies are those of admission.
	Policies []admission.Claim
	// Drain is nil where no node is drained.
	Drain *Drain
	// Links are the ids of the resources whose tolerations pods carry before taints come, and
	// Shared is what the resources of the run plan.
	Links  []string
	Shared *planner.Shared
	// Effects are what plans of resources of the run do to nodes and pods.
	Effects *planner.Effects
	// RetainedClaim is the claim on what others have left behind for the sake of the taints: it goes after
	// them, where no taint needs it any more. A claim that names no taint leaves it alone.
	RetainedClaim toleration.Claim
	// Limits are looked at before the first write, and before each step that may evict pods.
	Limits eviction.Limits
}

// Result is what a run has done.
type Result struct {
	// Steps are the steps that it has made, in words.
	Steps []string
	// Retained reports what others have left behind and could not be taken away. It fails
	// nothing: the taints are changed already.
	Retained error
	// Workloads are those of the change, as it has left them.
	Workloads []planner.Tolerations
}

// hooks are asked while a change is carried out, and can stop it.
type hooks struct {
	// begin is asked with the whole plan before the first write.
	begin func(context.Context, planner.Plan) error
	// approve is asked right before nodes are written, with those that are new since.
	approve func(context.Context, planner.NodePlan) error
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
// the wait for running pods, taints, and the reverse for what goes. It takes the
// first step, looks again, and asks again, so that whatever interrupts it, the
// next run goes on from what the cluster shows then.
//
// The cluster must be followed meanwhile. Errors: *RefusedError, *LimitsError,
// *ConflictError, *HoldError, *StuckError, *RevertedError, *UnseenError and those of kube.
func Run(ctx context.Context, cluster *kube.Cluster, change Request, comparison eviction.Comparison) (Result, error) {
	r := newRun(cluster, change, comparison)
	r.hooks = hooks{begin: r.allowed, approve: r.approve}
	return r.end(ctx)
}

func newRun(cluster *kube.Cluster, change Request, comparison eviction.Comparison) *run {
	return &run{
		cluster: cluster, change: change, comparison: comparison, known: make([]known, len(change.Workloads)), policies: map[string]*admission.Observed{},
		approved: map[string]bool{}, written: map[string]int{},
	}
}

// end carries the change out to its end.
func (r *run) end(ctx context.Context) (Result, error) {
	defer func() {
		for _, release := range r.releases {
			release()
		}
	}()
	if len(r.change.Workloads)+len(r.change.Policies) > 0 || r.change.Labels != nil || r.change.Drain != nil {
		if err := r.withPods(ctx); err != nil {
			return Result{}, err
		}
	}
	err := r.carryOut(ctx)
	if err != nil && !r.begun {
		r.change.Effects.Drop(r.change.Owner)
	}
	out := Result{Steps: r.done, Workloads: r.left()}
	if err == nil && len(r.change.RetainedClaim.Named) > 0 {
		out.Retained = r.contract(ctx)
	}
	return out, err
}

// left returns the workloads of the change, as the run has left them.
func (r *run) left() []planner.Tolerations {
	var out []planner.Tolerations
	for i, d := range r.change.Workloads {
		if w := r.known[i].workload; w != nil && !d.Linked {
			out = append(out, d.of(w))
		}
	}
	return out
}

// run is a change that is being carried out.
type run struct {
	cluster    *kube.Cluster
	change     Request
	comparison eviction.Comparison
	hooks      hooks
	// known is what is known of each workload of the change.
	known []known
	// policies is what is known of the policies of the change, by name; nil for none.
	policies map[string]*admission.Observed
	// cacheValid reports that no other writer has been seen: what is known of the
	// workloads serves to find the next step.
	cacheValid bool
	begun      bool
	done       []string
	// rounds counts steps, unexpectedWaits the unexpected waits.
	rounds, unexpectedWaits int
	// pods is set once pods are followed, linked once the linked workloads are known.
	pods, linked bool
	releases     []func()
	// cycled is set once machines have been replaced that nothing is wrong with, drained once
	// nodes are: what comes there in spite of it would be recreated forever.
	cycled, drained bool
	// retained is set where the change is what others have left behind.
	retained bool
	// checked is the cluster that the whole plan was checked with.
	checked *snapshot.Snapshot
	// approved are the nodes that the limits allow to write, written how often each was.
	approved map[string]bool
	written  map[string]int
}

// withPods has pods followed from now on. A change that evicts no pod does without.
func (r *run) withPods(ctx context.Context) error {
	if !r.pods {
		release, err := r.cluster.Follow(ctx, true)
		if err != nil {
			return err
		}
		r.releases, r.pods = append(r.releases, release), true
	}
	_, err := r.cluster.SnapshotToDecide(ctx)
	return err
}

func (r *run) carryOut(ctx context.Context) error {
	for {
		plan, err := r.observe(ctx)
		if err != nil {
			return err
		}
		if err := r.begin(ctx, plan); err != nil {
			return err
		}
		if len(plan.Steps) == 0 || plan.Steps[0].Kind == planner.ApplyTaints {
			// The planner has seen running pods alone: what makes them may be behind.
			if quiet, err := r.settle(ctx, plan); err != nil {
				if stuck := new(StuckError); errors.As(err, &stuck) {
					stuck.TaintsApplied = len(plan.Steps) == 0 && (r.change.Nodes != nil || r.change.MachineSets != nil)
				}
				return err
			} else if !quiet {
				continue
			}
		}
		if len(plan.Steps) == 0 {
			return r.readable(ctx)
		}
		if err := r.take(ctx, plan.Steps[0]); err != nil {
			return err
		}
	}
}

// begin comes before the first write of all.
func (r *run) begin(ctx context.Context, plan observedPlan) error {
	if r.begun || len(plan.Steps) == 0 {
		return nil
	}
	if err := plan.begin(ctx, r.hooks.begin); err != nil {
		return err
	}
	r.begun, r.checked = true, plan.snapshot
	return r.replenish(ctx)
}

// count ends a run that would go on forever. It is at an object.
func (r *run) count(at workload.Ref) error {
	if r.rounds++; r.rounds <= maxRounds*(len(r.change.Workloads)+1) {
		return nil
	}
	return &RevertedError{Thing: at}
}

// writes is what a step writes to, the first of several, and the zero value for a rollout
// of machines, which counts its own writes.
func writes(step planner.Step) workload.Ref {
	switch {
	case step.Workload != nil:
		return step.Workload.Ref
	case len(step.Labels.Switches) > 0:
		return workload.Ref{Kind: "Node", Name: step.Labels.Switches[0].Node.Name}
	case step.Policy.Name != "":
		return workload.Ref{APIVersion: "admissionregistration.k8s.io/v1", Kind: "MutatingAdmissionPolicy", Name: step.Policy.Name}
	}
	return workload.Ref{}
}

// settle waits until the pods are as many as desired. All that live carry
// what is wanted by then; one that was missing a moment ago may yet be made from
// an old template, and what comes next relies on it. It is quiet where there was
// nothing to wait for: else what was read before the wait is old.
func (r *run) settle(ctx context.Context, plan observedPlan) (quiet bool, err error) {
	quiet = true
	brings := len(plan.Steps) > 0 && plan.Steps[0].Brings()
	for _, t := range plan.workloads {
		held := t.Workload.Rolling.Hold != "" && !t.Workload.Relapses
		if !t.Awaited(brings) || held && !t.Linked {
			continue
		}
		waited, err := r.await(ctx, t.Workload, nil)
		if errors.Is(err, errOverwritten) {
			r.cacheValid = false
			return false, r.count(t.Workload.Ref)
		}
		if err != nil {
			return false, err
		}
		quiet = quiet && !waited
	}
	if !quiet {
		// This must end even if pods are created and deleted all the time.
		r.unexpectedWaits++
	}
	return quiet || r.unexpectedWaits > maxRounds, nil
}

// take makes one step, and notes what it shows of the workload.
func (r *run) take(ctx context.Context, step planner.Step) error {
	if len(step.Nodes.Switches) == 0 {
		// Nodes that join one after the other are no conflict.
		if err := r.count(writes(step)); err != nil {
			return err
		}
	}
	logger(ctx).DebugContext(ctx, "next step", "step", step.String())
	takes(ctx, step, r.pods)
	err := r.make(ctx, step)
	if errors.Is(err, errOverwritten) {
		// Another writer has removed it from the template: it is written again.
		r.cacheValid = false
		return nil
	}
	if err != nil {
		return err
	}
	if words := step.String(); !slices.Contains(r.done, words) {
		r.done = append(r.done, words)
	}
	return nil
}

func (r *run) make(ctx context.Context, step planner.Step) error {
	switch step.Kind {
	case planner.Label:
		r.invalidate(nil)
		if step.Sets > 0 {
			return r.labelSets(ctx, true)
		}
		return changeLabels(ctx, r.cluster, r.change.Labels.Adding(), step.Labels)
	case planner.Unlabel:
		r.invalidate(nil)
		if step.Sets > 0 {
			return r.labelSets(ctx, false)
		}
		return changeLabels(ctx, r.cluster, *r.change.Labels, step.Labels)
	case planner.ApplyTaints:
		r.invalidate(nil)
		if step.Switch != nil {
			err := r.rollOut(ctx, step)
			// Without its marker a cycle would begin again.
			r.cycled = r.change.MachineSets.Desired.Cycle
			return err
		}
		return r.switchTaints(ctx, step.Nodes)
	case planner.Admit, planner.Withdraw:
		r.invalidate(nil)
		at := slices.IndexFunc(r.change.Policies, func(c admission.Claim) bool { return c.Name == step.Policy.Name })
		claimed := func(*admission.Observed) *admission.Claim { return &r.change.Policies[at] }
		if r.retained {
			// Check again at write time: the owning resource may be updating it.
			claimed = asItIs
		}
		seen, err := enforce(ctx, r.cluster, step.Policy.Name, claimed, r.comparison)
		if err == nil {
			r.policies[step.Policy.Name] = seen
		}
		return err
	case planner.Drained:
		return r.emptyNodes(ctx)
	case planner.Wait:
		_, err := r.await(ctx, step.Workload, step.RemovedLabels)
		return err
	}
	return r.edit(ctx, step.Workload)
}

// changeLabels writes the labels of several nodes, merged again from each node
// as it is read for the write.
func changeLabels(ctx context.Context, cluster *kube.Cluster, desired planner.NodeLabels, plan planner.LabelPlan) error {
	names := make([]string, len(plan.Switches))
	for i, s := range plan.Switches {
		names[i] = s.Node.Name
	}
	_, err := writeAll(ctx, names, func(name string) (*snapshot.Node, error) {
		node, err := cluster.EditNode(ctx, name, func(n *snapshot.Node) (*kube.NodeEdit, error) {
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
