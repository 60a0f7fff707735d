// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"slices"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// known is what a run knows of one workload of its change. To read all of them
// before each step would be as many requests as the square of their number: a step
// reads its own, and the rest is read again where much depends on it.
type known struct {
	// workload is as it was read or written last, nil where it is gone.
	workload *workload.Workload
	// readAt is when that was. It is zero once something has been written or waited
	// for since.
	readAt time.Time
	// followed is the workload as it was when its pods were last seen to follow,
	// nil for never.
	followed *workload.Workload
}

// observedPlan is a plan and what it was made from.
type observedPlan struct {
	planner.Plan
	snapshot  *snapshot.Snapshot
	workloads []planner.Tolerations
}

// fresh reports that the workload is known as it is now.
func (k known) fresh() bool {
	return !k.readAt.IsZero() && time.Since(k.readAt) < lookAgain
}

// observe asks the planner what is left to do. What is known of the workloads serves
// to find the next step of each, which reads it again. Nothing that concerns all of
// them is concluded from it.
func (r *run) observe(ctx context.Context) (observedPlan, error) {
	if !r.cacheValid {
		if err := r.read(ctx); err != nil {
			return observedPlan{}, err
		}
		r.cacheValid = true
	}
	l, err := r.plan(ctx)
	more := false
	if err == nil {
		more, err = r.more(ctx, l)
	}
	if err == nil && (more || l.needsFreshRead() && !r.fresh()) {
		if err := r.read(ctx); err != nil {
			return observedPlan{}, err
		}
		l, err = r.plan(ctx)
	}
	if err != nil {
		return observedPlan{}, err
	}
	return l, l.obstacle()
}

// more finds out what else a plan depends on: the pods that its steps may evict, and the
// workloads that it is linked to where it brings taints.
func (r *run) more(ctx context.Context, l observedPlan) (more bool, err error) {
	links := !r.linked && len(r.change.Links) > 0 && slices.ContainsFunc(l.Steps, planner.Step.Brings)
	pods := !r.pods && (links || slices.ContainsFunc(l.Steps, func(s planner.Step) bool {
		return s.Nodes.Needs(r.change.Limits) || s.Switch != nil && s.Switch.Moves()
	}))
	if pods {
		if err := r.withPods(ctx); err != nil {
			return false, err
		}
	}
	if links {
		waits, err := linkedTo(ctx, r.cluster, r.change.Shared, r.change.Links, r.change.RetainedClaim)
		if err != nil {
			return false, err
		}
		r.linked = true
		r.change.Workloads = append(slices.Clone(r.change.Workloads), waits...)
		r.known = append(r.known, make([]known, len(waits))...)
	}
	return links || pods, nil
}

// needsFreshRead reports that the plan must not rest on workloads that were read a while
// ago: it ends the change, forbids it, or takes from nodes what pods rely on.
func (l observedPlan) needsFreshRead() bool {
	return len(l.Steps) == 0 || l.Steps[0].Kind == planner.ApplyTaints || l.Steps[0].Kind == planner.Unlabel || l.obstacle() != nil
}

// obstacle is what forbids every write.
func (l observedPlan) obstacle() error {
	switch {
	case len(l.Refusals) > 0:
		return &RefusedError{Refusals: l.Refusals}
	case len(l.DrainRefusals) > 0:
		return &DrainRefusedError{Refusals: l.DrainRefusals}
	case len(l.Conflicts) > 0:
		return &ConflictError{Conflicts: l.Conflicts}
	}
	return l.PolicyErr
}

// begin asks once more before the first write: half a change is worse than none.
func (l observedPlan) begin(ctx context.Context, allowed func(context.Context, planner.Plan) error) error {
	for _, t := range l.workloads {
		writes := slices.ContainsFunc(l.Steps, func(s planner.Step) bool { return s.Kind == planner.Expand && s.Workload == t.Workload && s.Template() })
		if !writes || t.NoWait {
			continue
		}
		if err := holds(l.snapshot, t); err != nil {
			return err
		}
	}
	if allowed == nil {
		return nil
	}
	return allowed(ctx, l.Plan)
}

// plan asks the planner what is left to do by what is known.
func (r *run) plan(ctx context.Context) (observedPlan, error) {
	snapshot, err := r.snapshot(ctx)
	if err != nil {
		return observedPlan{}, err
	}
	desired := planner.Change{Planned: r.planned()}
	if r.change.Labels != nil {
		desired.Labels = []planner.NodeLabels{*r.change.Labels}
	}
	if r.change.Nodes != nil {
		desired.Nodes = []planner.NodeTaints{*r.change.Nodes}
	}
	if r.change.MachineSets != nil && !r.cycled {
		if desired.MachineSets, err = r.sets(ctx); err != nil {
			return observedPlan{}, err
		}
	}
	if r.change.Drain != nil && !r.drained {
		desired.Drain = &r.change.Drain.NodeDrain
	}
	for _, claim := range r.change.Policies {
		desired.Policies = append(desired.Policies, planner.DesiredPolicy{Claim: claim, Seen: r.policies[claim.Name]})
	}
	for i, d := range r.change.Workloads {
		if w := r.known[i].workload; w != nil {
			desired.Workloads = append(desired.Workloads, d.of(w))
		}
	}
	plan, snapshot, err := Ordered(ctx, r.cluster, snapshot, r.orderOf(desired))
	return observedPlan{plan, snapshot, desired.Workloads}, err
}

// orderOf returns how the steps of a change are put in order. What resources do that the run has planned before counts as
// it did at plan, until the cluster shows it.
func (r *run) orderOf(change planner.Change) func(*snapshot.Snapshot) planner.Plan {
	sets := r.change.MachineSets
	others := r.change.Effects.Before(r.change.Owner, sets != nil && sets.AtOnce == 1)
	return func(s *snapshot.Snapshot) planner.Plan { return planner.Order(s.Beside(others), change, r.comparison) }
}

// planned is what other resources of the run have not changed yet of the tolerations of
// workloads.
func (r *run) planned() map[snapshot.WorkloadKey]eviction.Planned {
	if r.change.Shared == nil {
		return nil
	}
	return r.change.Shared.Tolerations(r.change.Owner, r.change.Links)
}

// snapshot is the cluster as it is known now, without pods until a step depends on these.
func (r *run) snapshot(ctx context.Context) (*snapshot.Snapshot, error) {
	if r.pods {
		return r.cluster.Snapshot(ctx)
	}
	nodes, err := r.cluster.NodesByName(ctx)
	return &snapshot.Snapshot{Nodes: nodes}, err
}

// fresh reports that every workload is known as it is now.
func (r *run) fresh() bool {
	return !slices.ContainsFunc(r.known, func(k known) bool { return !k.fresh() })
}

// read reads the policies, and every workload that is not known as it is now. One that is
// gone has nothing to give up.
func (r *run) read(ctx context.Context) error {
	for _, claim := range r.change.Policies {
		seen, err := r.cluster.Policy(ctx, claim.Name)
		if err != nil {
			return err
		}
		r.policies[claim.Name] = seen
	}
	for i, d := range r.change.Workloads {
		if r.known[i].fresh() {
			continue
		}
		w, err := d.read(ctx, r.cluster)
		if err == nil && w != nil && !d.Linked {
			err = d.unreadable(w)
		}
		if err != nil {
			return &WorkloadError{Ref: d.Ref, Err: err}
		}
		r.known[i].workload, r.known[i].readAt = w, time.Now()
	}
	return nil
}

// read reads the workload, nil where it is gone and was to give something up, or was to be
// waited for.
func (d Tolerations) read(ctx context.Context, cluster *kube.Cluster) (*workload.Workload, error) {
	w, err := cluster.FreshWorkload(ctx, d.Ref, d.Path)
	if kube.Gone(err) && (d.Claim.Release || d.Linked || d.Retained) {
		return nil, nil
	}
	return w, err
}

// invalidate reports that time has passed since workloads were read, except for one.
func (r *run) invalidate(except *known) {
	for i := range r.known {
		if k := &r.known[i]; k != except {
			k.readAt = time.Time{}
		}
	}
}

// of returns the part of the change that is about a workload of its plan, and
// what is known of that.
func (r *run) of(w *workload.Workload) (Tolerations, *known) {
	i := slices.IndexFunc(r.known, func(k known) bool { return k.workload == w })
	return r.change.Workloads[i], &r.known[i]
}

// await waits for the pods of a workload: those that lack what is wanted, or that
// require labels which they must shed. It reports whether time has passed by it.
func (r *run) await(ctx context.Context, w *workload.Workload, shed map[string][]string) (waited bool, err error) {
	d, k := r.of(w)
	if d.Linked {
		bounded, cancel := r.change.Machines.bounded(ctx)
		defer cancel()
		ctx = bounded
	}
	a := wait{cluster: r.cluster, desired: d, waiting: lacking(d), rewrite: !d.Linked, known: *k}
	if shed != nil {
		a.waiting, a.rewrite = shedding(shed), false
	}
	err = a.end(ctx)
	*k = a.known
	if a.waited {
		r.invalidate(k)
	}
	return a.waited, err
}

// edit writes a workload, merged again from the object that is read for the write.
func (r *run) edit(ctx context.Context, w *workload.Workload) error {
	d, k := r.of(w)
	r.invalidate(nil)
	before, after, err := edit(ctx, r.cluster, d, r.comparison)
	if kube.Gone(err) && (d.Claim.Release || d.Retained) {
		k.workload, k.readAt = nil, time.Now()
		return nil
	}
	if err != nil {
		return err
	}
	// Others at work show in what is read for the write: they may have been at the
	// other workloads too. A changed status is no other writer's work.
	r.cacheValid = r.cacheValid && alike(before, w) && after != before
	k.workload, k.readAt = after, time.Now()
	return r.share(ctx, d, k)
}

// share uses what was written for the other lists of the same object.
func (r *run) share(ctx context.Context, written Tolerations, source *known) error {
	for i, d := range r.change.Workloads {
		k := &r.known[i]
		if k == source || d.Ref != written.Ref || k.workload == nil {
			continue
		}
		w, err := r.cluster.Workload(ctx, d.Ref, d.Path)
		if err != nil {
			return &WorkloadError{Ref: d.Ref, Err: err}
		}
		k.workload = w
	}
	return nil
}

// alike reports whether no writer has changed what an object asks for, or the records of
// who owns what of it, between two readings.
func alike(a, b *workload.Workload) bool {
	return a.UID == b.UID && a.Generation == b.Generation &&
		a.Record.String() == b.Record.String() && a.LabelRecord.String() == b.LabelRecord.String()
}
