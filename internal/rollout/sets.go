// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// Machines reports how MachineSets are rolled out.
type Machines struct {
	// Slots bounds how many rollouts of the process run at the same time.
	Slots *Slots
	// Waits is told once that a rollout waits for another one to end, nil for no listener.
	Waits func()
	// Hooks are asked and told beside what a rollout does by itself.
	Hooks MachineHooks
	// Timeout is how long one rollout may take from when its turn has come, and a wait for pods
	// before it; 0 for as long as the context allows.
	Timeout time.Duration
}

// SetErrors are the errors of rolling out MachineSets, each of its own one.
type SetErrors []*SetError

// SetError is an error of rolling out one MachineSet.
type SetError struct {
	Set *machineset.Set
	Err error
}

// Error returns the first error.
func (e SetErrors) Error() string { return e[0].Error() }

// Unwrap returns all of them.
func (e SetErrors) Unwrap() []error {
	out := make([]error, len(e))
	for i, one := range e {
		out[i] = one
	}
	return out
}

// Error returns the original error.
func (e *SetError) Error() string { return e.Err.Error() }

// Unwrap returns the original error.
func (e *SetError) Unwrap() error { return e.Err }

// bounded gives a context of a rollout, or of a wait before it, the time that it may take.
func (m Machines) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if m.Timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, m.Timeout)
}

// rollOut rolls the taints of MachineSets out, each when its turn has come, in the order of
// their names, those first whose rollout was interrupted: they may have no machine. Where one
// fails, those that have begun go on to their end, and no other one begins. Errors: SetErrors.
func (r *run) rollOut(ctx context.Context, step planner.Step) error {
	all := slices.Clone(step.Switch.Affected)
	turn := func(a machineset.Affected) int {
		if a.Effect.Interrupted != nil {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b machineset.Affected) int { return cmp.Compare(turn(a), turn(b)) })
	errs := make([]error, len(all))
	whole := sync.OnceValue(func() error { return r.allowedRollout(ctx, "") })
	var failed atomic.Bool
	var begun sync.WaitGroup
	for n, a := range all {
		most := r.change.MachineSets.AtOnce
		done, err := r.change.Machines.Slots.Begin(ctx, a.Set.Key(), int64(most), func() {
			r.bringBackInterrupted(ctx, a)
			logger(ctx).InfoContext(ctx, "waiting for another rollout to end", "machine_set", a.Set.Key(), "at_once", most)
			if r.change.Machines.Waits != nil {
				r.change.Machines.Waits()
			}
		})
		if err != nil {
			errs[n] = err
			r.bringBackInterrupted(ctx, all[n:]...)
			break
		}
		if failed.Load() && a.Effect.Interrupted == nil {
			done()
			break
		}
		begun.Go(func() {
			defer done()
			if errs[n] = r.rollOutOne(ctx, a.Observed, whole, len(all) == 1); errs[n] != nil {
				failed.Store(true)
			}
		})
	}
	begun.Wait()
	var out SetErrors
	for n, err := range errs {
		if err != nil {
			out = append(out, &SetError{Set: all[n].Set, Err: err})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// rollOutOne changes one MachineSet. The clock starts now. What has begun goes on, whatever the
// others are refused for: it may have no machine by now. Whole checks all of them together,
// before the first one of all, since the limits are the resource's.
func (r *run) rollOutOne(ctx context.Context, o machineset.Observed, whole func() error, only bool) error {
	ctx, cancel := r.change.Machines.bounded(ctx)
	defer cancel()
	desired, hooks := r.change.MachineSets.Of(o).Desired, r.change.Machines.Hooks
	asks := hooks.Approve
	hooks.Approve = func(now machineset.Observed) error {
		if refusals := machineset.Refuse(now, desired); len(refusals) > 0 {
			return &SetRefusedError{Set: now.Set, Refusals: refusals}
		}
		if machineset.Plan(now, desired).Interrupted == nil {
			err := whole()
			if err == nil && !only {
				err = r.allowedRollout(ctx, now.Set.Key())
			}
			if err != nil {
				return err
			}
		}
		if asks == nil {
			return nil
		}
		return asks(now)
	}
	return RollOut(ctx, r.cluster, o.Set.Key(), desired, hooks)
}

// allowedRollout checks the rollout of a MachineSet, or of all, right before its first write.
func (r *run) allowedRollout(ctx context.Context, key string) error {
	all, err := r.cluster.MachineSets(ctx)
	if err != nil {
		return err
	}
	sets := r.change.MachineSets.Changes(slices.DeleteFunc(slices.Clone(all), func(o machineset.Observed) bool { return key != "" && o.Set.Key() != key }))
	if !(&planner.SetSwitch{Affected: sets.Affected()}).Moves() {
		return nil
	}
	snapshot, err := r.cluster.SnapshotToDecide(ctx)
	if err != nil {
		return err
	}
	plan, _, err := Ordered(ctx, r.cluster, snapshot, r.orderOf(planner.Change{MachineSets: sets, Planned: r.planned()}))
	if err != nil {
		return err
	}
	if set, refusals := plan.Refused(); set != nil {
		return &SetRefusedError{Set: set, Refusals: refusals}
	}
	steps, report := plan.Impact()
	return r.within(ctx, steps, report, true)
}

// readable looks at the MachineSets that no step was about: one whose record is damaged seems to
// need none. Errors: SetErrors.
func (r *run) readable(ctx context.Context) error {
	if r.change.MachineSets == nil || r.cycled {
		return nil
	}
	all, err := r.cluster.MachineSets(ctx)
	if err != nil {
		return err
	}
	var out SetErrors
	for _, c := range r.change.MachineSets.Changes(all).Sets {
		if err := CheckSet(c.Set, c.Desired); err != nil {
			out = append(out, &SetError{Set: c.Set, Err: err})
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
