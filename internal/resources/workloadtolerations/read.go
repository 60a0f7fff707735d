// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package workloadtolerations

import (
	"context"
	"errors"
	"slices"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/rollout"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/managed"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/tf/message"
	tfschema "github.com/kubetaint/terraform-provider-kubetaint/internal/tf/schema"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// Observe reads the workloads that are meant, and those that are no longer meant and carry ownership records of the
// resource.
func (r *workloadTolerations) Observe(ctx context.Context, m model, own ownership, diags *diag.Diagnostics) (observation, error) {
	desired, known := m.Desired(ctx, own, diags)
	if !known {
		return observation{}, nil
	}
	o, err := r.observeHere(ctx, desired)
	return o, unread(desired, err, diags)
}

// unread words what is wrong with a workload, and returns any other error. State is dropped where the named workload
// does not exist, or not even its kind.
func unread(desired wanted, err error, diags *diag.Diagnostics) error {
	switch said := damaged(desired, err); {
	case kube.Gone(err):
		return managed.Gone(err)
	case said != nil:
		diags.Append(said)
		return nil
	case errors.As(err, new(*workload.ConfigError)):
		diags.Append(explain("read", desired, err))
		return nil
	}
	return err
}

// Recover finds the marks with the state's id.
func (r *workloadTolerations) Recover(ctx context.Context, own ownership, state model, seen observation, diags *diag.Diagnostics) (ownership, error) {
	desired, known := state.Desired(ctx, own, diags)
	if !known {
		return own, nil
	}
	own = recovered(own, state.ID.ValueString(), desired.claim.Tolerations, seen.workloads, diags)
	lists := own.Find(state.ID.ValueString(), own.ListSeal())
	for _, w := range seen.workloads {
		lists.Lists(w.Grouped(), w.Record, nil)
	}
	if t := desired.target; t.Selector != nil && !diags.HasError() {
		// An update may have left others, which the selector does not match any more.
		_, marked, err := r.Data.Cluster.WorkloadsAndMarked(ctx, t.Ref, t.Selector, t.Path)
		if err != nil {
			return own, unread(desired, err, diags)
		}
		for _, m := range marked {
			lists.Lists(m.Grouped(), m.Record, nil)
		}
	}
	return own.See(record.Held{}, lists.Held), nil
}

// recovered begins a new ownership with the generation of the marks. Workloads that have all
// that the state says may have no record of it: what others have put there is left to them.
func recovered(own ownership, id string, stored []corev1.Toleration, workloads []*workload.Workload, diags *diag.Diagnostics) ownership {
	found := managed.GenerationsOf(id)
	covered := len(workloads) > 0
	for _, w := range workloads {
		for _, mark := range w.Record {
			found.Note(w.Title(), mark.Owner, mark.Generation)
		}
		for _, t := range stored {
			covered = covered && toleration.CoveredBy(w.Tolerations, t)
		}
	}
	objects := "No workload"
	if covered {
		objects = ""
	}
	return own.Recover(func() string { return found.One(objects, diags) })
}

// Refresh compares the workloads with the state. A toleration that is not there any
// more leaves the state, and so the next plan adds it again; one that retires and
// that nothing needs any more enters it, and so the next plan takes it away. What an
// update has begun and not ended shows in it, so that the next plan goes on with that,
// or takes it back. Tolerations of others are never taken up.
func (r *workloadTolerations) Refresh(ctx context.Context, state model, own ownership, seen observation, diags *diag.Diagnostics) (model, ownership, error) {
	desired, known := state.Desired(ctx, own, diags)
	if !known {
		return state, own, nil
	}
	var err error
	if desired.target.Selector != nil && seen.nonce != desired.claim.Seal.Nonce {
		// The proof of the marks was lost when these were looked for.
		seen, err = r.observeHere(ctx, desired)
	}
	if err == nil {
		own = own.Retain(seen.forget(desired))
		r.Data.Keys.Register(state.ID.ValueString(), own.ListSeal())
		err = r.refresh(ctx, &state, desired, seen, diags)
	}
	return state, own, unread(desired, err, diags)
}

// refresh puts into the state what the workloads have of it.
func (r *workloadTolerations) refresh(ctx context.Context, state *model, desired wanted, observed observation, diags *diag.Diagnostics) error {
	there := slices.Clone(desired.claim.Tolerations)
	changed := false
	extra, fading := begun(observed.workloads, desired.claim)
	for _, w := range observed.workloads {
		if w.RecordErr != nil {
			return &rollout.WorkloadError{Ref: w.Ref, Err: w.RecordErr}
		}
		message.WarnRestored(w, desired.claim.On(w.Grouped()), label.Claim{}, diags)
		// Nothing is given up here: what is missing does not depend on what
		// pods need.
		for _, missing := range toleration.Merge(w.Tolerations, w.Record, desired.claim.On(w.Grouped()), nil, true).Missing {
			there = slices.DeleteFunc(there, func(t corev1.Toleration) bool { return toleration.Equal(t, missing) })
			changed = true
		}
	}
	if extra {
		// With what the update was of there is something left to do, if only to wait
		// for the pods; with what was there before it, something to take away. A state
		// that is empty makes a plan with either, and stays so until it is applied.
		state.Tolerations = tfschema.TolerationSet(ctx, nil, diags)
		return nil
	}
	if len(fading) > 0 {
		there = slices.DeleteFunc(there, func(t corev1.Toleration) bool { return toleration.Contains(fading, t) })
		changed = true
	}
	unneeded, left, err := r.unneeded(ctx, desired, observed)
	if err != nil {
		return err
	}
	for _, t := range unneeded {
		if !toleration.Contains(there, t) {
			there, changed = append(there, t), true
		}
	}
	for _, t := range left {
		// It stands where it must not. As it must stand elsewhere, it cannot be
		// added to make a plan; a state without it makes one as well, and where an
		// update that was not saved has left it, one without any.
		if !toleration.Contains(desired.claim.Tolerations, t) {
			there = nil
		}
		there = slices.DeleteFunc(there, func(one corev1.Toleration) bool { return toleration.Equal(one, t) })
		changed = true
	}
	if changed {
		state.Tolerations = tfschema.TolerationSet(ctx, there, diags)
	}
	return nil
}

// begun reports what an update that has not come to its end has left, where all workloads
// show it: whether there are owned entries that the state does not have, and which of
// the state retire. Where some workloads are as they were, what they lack makes a plan.
func begun(workloads []*workload.Workload, claim toleration.Claim) (extra bool, fading []corev1.Toleration) {
	for i, w := range workloads {
		more, less := false, []corev1.Toleration(nil)
		for _, mark := range w.Record {
			stands := toleration.Contains(claim.Tolerations, mark.Toleration())
			switch {
			case !claim.On(w.Grouped()).Owns(toleration.Record{mark}):
			case !mark.Retiring:
				more = more || !stands
			case stands:
				less = append(less, mark.Toleration())
			}
		}
		if i > 0 {
			more = more && extra
			less = slices.DeleteFunc(less, func(t corev1.Toleration) bool { return !toleration.Contains(fading, t) })
		}
		extra, fading = more, less
	}
	return extra, fading
}

// unneeded returns the retiring owned entries that no pod needs any more,
// and what is to be given up on workloads that are no longer meant.
func (r *workloadTolerations) unneeded(ctx context.Context, desired wanted, observed observation) (unneeded, left []corev1.Toleration, err error) {
	// Only what retires is looked at: an entry that an earlier refresh has taken
	// out of the state because it is missing elsewhere is still wanted.
	own := desired
	own.claim.Tolerations, own.claim.Generation, own.claim.Imported = nil, "", nil
	own.claim.Known = []record.Seal{{}}
	for _, w := range observed.workloads {
		for _, t := range retiring(w, desired.claim) {
			own.claim.Named = append(own.claim.Named, taint.ID{Key: t.Key, Effect: t.Effect})
		}
	}
	change := observation{workloads: slices.DeleteFunc(slices.Clone(observed.workloads), func(w *workload.Workload) bool {
		return len(retiring(w, desired.claim)) == 0
	})}.change(own)
	change.Workloads = append(change.Workloads, observation{leavers: observed.leavers}.change(desired).Workloads...)
	if len(change.Workloads) == 0 {
		return nil, nil, nil
	}
	snapshot, err := r.Data.Cluster.Snapshot(ctx)
	if err != nil {
		if errors.Is(err, kube.ErrForbidden) {
			return nil, nil, nil
		}
		return nil, nil, err
	}
	for _, step := range planner.Order(snapshot, change, r.Data.Comparison).Steps {
		switch {
		case step.Kind != planner.Contract:
		case slices.ContainsFunc(observed.leavers, func(w *workload.Workload) bool { return w.Ref == step.Workload.Ref }):
			left = append(left, slices.Concat(step.Merged.Removed, step.Merged.Retired)...)
		default:
			for _, t := range retiring(step.Workload, desired.claim) {
				if toleration.Contains(step.Merged.Removed, t) {
					unneeded = append(unneeded, t)
				}
			}
		}
	}
	return unneeded, left, nil
}

// retiring returns what the claim owns and waits to be taken away.
func retiring(w *workload.Workload, claim toleration.Claim) []corev1.Toleration {
	var out []corev1.Toleration
	for _, mark := range w.Record {
		if mark.Retiring && claim.On(w.Grouped()).Owns(toleration.Record{mark}) {
			out = append(out, mark.Toleration())
		}
	}
	return out
}
