// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const (
	// lookAtMachines is how often machines are looked at where nothing tells of a
	// change: what holds a drain changes without any.
	lookAtMachines = 2 * time.Second

	// lookAtBudgets is how often PodDisruptionBudgets are listed for that.
	lookAtBudgets = 15 * time.Second

	// restoreTimeout bounds the write that brings back a count when the time is
	// over or a user has stopped the run.
	restoreTimeout = 10 * time.Second
)

// MachineHooks are asked while the machines of a MachineSet are rolled out; nil
// ones are not.
type MachineHooks struct {
	// Approve is asked right before the first write, and can stop it.
	Approve func(machineset.Observed) error
	// Progress is told what is waited for, whenever that changes.
	Progress func(string)
	// Writing is told of each write, before it is made.
	Writing func(machineset.Intent)
}

// RollOut brings the taints of a MachineSet's template, and by the strategy those
// of its machines and nodes, to what is desired. It decides from what the cluster
// shows, writes, and decides again, until nothing is left to do.
//
// The machines must be followed meanwhile. Errors: *SetGoneError,
// *SetConflictError, *StoppedError, *MachinesError, *RevertedError, those of the hooks and of
// kube, and *RestoredError or *AtZeroError around any of them but *MachinesError.
func RollOut(ctx context.Context, cluster *kube.Cluster, key string, desired machineset.Desired, hooks MachineHooks) error {
	r := &machineRollout{cluster: cluster, key: key, desired: desired, hooks: hooks, writes: map[string]int{}, conflicts: map[string]int{}}
	for {
		done, err := r.round(ctx)
		if done || err != nil {
			return r.leave(ctx, err)
		}
	}
}

type machineRollout struct {
	cluster *kube.Cluster
	key     string
	desired machineset.Desired
	hooks   MachineHooks

	set      *machineset.Set
	approved bool
	told     string
	waiting  []string
	// awaitsController reports that waiting is about the MachineSet's controller.
	awaitsController bool
	holds            []string
	// wrote are the nodes that were written since they were looked at last, writes counts
	// the writes of each object: a writer who reverts them would have machines deleted for
	// ever.
	wrote  []*snapshot.Node
	writes map[string]int
	// conflicts counts the writes of each object that met a change by another client.
	conflicts map[string]int

	budgets   snapshot.Budgets
	budgetsAt time.Time
}

// round is one decision with its writes, or one wait.
func (r *machineRollout) round(ctx context.Context) (done bool, err error) {
	observed, err := r.observe()
	if err != nil {
		return r.gone(observed.Set, err)
	}
	if err := CheckSet(observed.Set, r.desired); err != nil {
		return false, err
	}
	if observed.Set.Marker != nil {
		r.desired.Begun = observed.Set.Marker
	}
	next := machineset.Next(observed, r.desired, time.Now())
	switch {
	case next.Stop != "":
		return false, &StoppedError{Set: r.set, Why: next.Stop}
	case next.Done:
		return true, nil
	case len(next.Intents) == 0:
		r.tell(ctx, observed, next.Waiting)
		r.cluster.NextMachines(ctx, lookAtMachines)
		return false, context.Cause(ctx)
	}
	if !r.approved && r.hooks.Approve != nil {
		if err := r.hooks.Approve(observed); err != nil {
			return false, err
		}
	}
	r.approved = true
	return r.carryOut(ctx, next)
}

// carryOut makes the writes of a decision.
func (r *machineRollout) carryOut(ctx context.Context, next machineset.Decision) (done bool, err error) {
	for _, intent := range next.Intents {
		logger(ctx).InfoContext(ctx, "writing for a rollout of machines", "machine_set", r.key, "what", string(intent.Kind), "reason", intent.Reason)
		if r.hooks.Writing != nil {
			r.hooks.Writing(intent)
		}
		if err := r.write(ctx, intent); errors.Is(err, kube.ErrConflict) || errors.Is(err, kube.ErrNotFound) {
			// Another writer was faster, or has deleted it: what is known now decides.
			if r.conflicts[intent.About()]++; r.conflicts[intent.About()] > maxConflicts {
				return false, busyAbout(r.set, intent)
			}
			err := r.reread(ctx, intent)
			return next.Last && r.unmarked(), err
		} else if err != nil {
			return false, err
		}
		if r.writes[intent.About()]++; r.writes[intent.About()] > maxRounds {
			return false, revertedAbout(r.set, intent)
		}
		if err := context.Cause(ctx); err != nil && !next.Last {
			return false, err
		}
	}
	return next.Last, r.settle(ctx)
}

// unowned reports that the marker is gone: a write whose answer was lost, and which was
// repeated therefore, meets what it has written itself.
func (r *machineRollout) unmarked() bool {
	observed, there := r.cluster.MachineSet(r.key)
	return there && observed.Set.Marker == nil && observed.Set.MarkerErr == nil
}

func (r *machineRollout) observe() (machineset.Observed, error) {
	observed, there := r.cluster.MachineSet(r.key)
	switch {
	case !there:
		return observed, &SetGoneError{Key: r.key}
	case r.set != nil && r.set.UID != observed.Set.UID:
		return observed, &SetGoneError{Key: r.key, Recreated: true}
	}
	r.set = observed.Set
	return observed, nil
}

// gone reports that there is nothing left to give up where the MachineSet is gone. One
// that has been made anew out of a copy can have all that was owned.
func (r *machineRollout) gone(anew *machineset.Set, err error) (bool, error) {
	if r.desired.Claim.Release && (anew == nil || !r.desired.Owns(anew)) {
		return true, nil
	}
	return false, err
}

// CheckSet reports whether what is written on a MachineSet can be read, and is owned to
// change. Errors: *StoppedError, *SetConflictError.
func CheckSet(s *machineset.Set, desired machineset.Desired) error {
	if s.RecordErr != nil {
		return cannotRead(s, s.Title(), s.RecordErr)
	}
	if s.MarkerErr != nil {
		return cannotRead(s, s.Title(), s.MarkerErr)
	}
	if t := desired.Merge(s); len(t.Conflicts) > 0 {
		return &SetConflictError{Set: s, Conflicts: t.Conflicts}
	}
	return nil
}

func (r *machineRollout) write(ctx context.Context, intent machineset.Intent) error {
	switch intent.Kind {
	case machineset.WriteSet:
		_, err := r.cluster.PatchSet(ctx, r.set, intent.Set)
		if err == nil && intent.Set.MarkerChanges && intent.Set.Marker != nil {
			// The marker can be gone before it is looked at.
			r.desired.Begun = intent.Set.Marker
		}
		return err
	case machineset.WriteMachine:
		if len(intent.Labels) > 0 {
			return r.cluster.PatchMachineLabels(ctx, intent.Machine, intent.Labels)
		}
		return r.cluster.PatchMachineTaints(ctx, intent.Machine, intent.Taints)
	case machineset.WriteNode:
		if len(intent.Labels) > 0 {
			return r.written(r.cluster.PatchNodeLabels(ctx, intent.Node, intent.Labels))
		}
		return r.written(r.cluster.PatchNodeTaints(ctx, intent.Node, intent.Taints))
	case machineset.Choose:
		return r.cluster.ChooseMachine(ctx, intent.Machine)
	case machineset.Delete:
		return r.cluster.DeleteMachine(ctx, intent.Machine)
	}
	return fmt.Errorf("nothing is known of %q", intent.Kind)
}

func (r *machineRollout) written(n *snapshot.Node, err error) error {
	if err == nil {
		r.wrote = append(r.wrote, n)
	}
	return err
}

// settle watches the nodes that were written for a moment: nodelink puts back what it
// has not heard yet to be gone from the Machine.
func (r *machineRollout) settle(ctx context.Context) error {
	if len(r.wrote) == 0 {
		return nil
	}
	wrote := r.wrote
	r.wrote = nil
	_, err := r.cluster.Settle(ctx, wrote, settleMoment)
	return err
}

// reread brings what is known up to date after a conflict, or where something is
// gone.
func (r *machineRollout) reread(ctx context.Context, intent machineset.Intent) error {
	switch intent.Kind {
	case machineset.WriteSet:
		_, err := r.cluster.RereadSet(ctx, r.set)
		return ignore(err, kube.ErrNotFound)
	case machineset.WriteNode:
		_, err := r.cluster.RereadNode(ctx, intent.Node.Name)
		return ignore(err, kube.ErrNotFound)
	case machineset.WriteMachine, machineset.Choose, machineset.Delete:
	}
	return r.cluster.RereadMachine(ctx, intent.Machine.Key())
}

func ignore(err, class error) error {
	if errors.Is(err, class) {
		return nil
	}
	return err
}

// tell reports what is waited for, and what holds it, where that has changed.
func (r *machineRollout) tell(ctx context.Context, observed machineset.Observed, waiting []machineset.Waiting) {
	r.waiting, r.awaitsController = r.waiting[:0], len(waiting) == 0
	for _, w := range waiting {
		r.waiting = append(r.waiting, w.Machine.Name+" "+w.Why)
	}
	switch {
	case len(waiting) > 0:
	case !observed.Set.Observed:
		r.waiting = append(r.waiting, "its controller has not seen the template yet")
	default:
		r.waiting = append(r.waiting, fmt.Sprintf("there are %d, and the MachineSet asks for %d", len(observed.Machines), observed.Set.Replicas))
	}
	r.findHolds(ctx, observed)
	now := strings.Join(append(r.waiting, r.holds...), "; ")
	if now == r.told {
		return
	}
	r.told = now
	logger(ctx).InfoContext(ctx, "waiting for machines", "machine_set", r.key, "waiting", now)
	if r.hooks.Progress != nil {
		r.hooks.Progress(now)
	}
}

// findHolds finds out what holds a drain. Nothing tells of it: the Machine's conditions
// do not (pkg/controller/machine/drain_controller.go).
func (r *machineRollout) findHolds(ctx context.Context, observed machineset.Observed) {
	snapshot, err := r.cluster.Snapshot(ctx)
	if err != nil {
		return
	}
	if time.Since(r.budgetsAt) > lookAtBudgets {
		if budgets, err := r.cluster.Budgets(ctx); err == nil {
			r.budgets, r.budgetsAt = budgets, time.Now()
		}
	}
	r.holds = machineset.Holds(observed, snapshot, r.budgets)
}

// leave ends a rollout. Where it ends in the middle, the count of a set that was scaled
// to zero is brought back, past the context that may have ended: its old machines are
// being deleted, so that the new ones can come. What was refused before it began writes
// nothing.
func (r *machineRollout) leave(ctx context.Context, err error) error {
	if err == nil || r.set == nil {
		return err
	}
	var restored *int
	failed := false
	if r.approved || ctx.Err() != nil {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
		defer cancel()
		restored, failed = r.restore(detached)
	}
	if ctx.Err() != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return r.late(restored != nil, err)
	}
	if restored != nil {
		return &RestoredError{Replicas: *restored, Err: err}
	}
	if observed, there := r.cluster.MachineSet(r.key); failed && there && observed.Set.Marker != nil {
		return &AtZeroError{Set: observed.Set, Replicas: observed.Set.Marker.OriginalReplicas, Err: err}
	}
	return err
}

// late reports how far the rollout has come.
func (r *machineRollout) late(restored bool, err error) *MachinesError {
	e := &MachinesError{Set: r.set, Begun: r.approved, Waiting: r.waiting, Controller: r.awaitsController, Holds: r.holds, Restored: restored, Err: err}
	if observed, there := r.cluster.MachineSet(r.key); there && observed.Set.UID == r.set.UID {
		e.Set, e.Left = observed.Set, machineset.Left(observed, r.desired)
	}
	return e
}

// restore brings the count back, and returns it; nil where there is nothing to bring
// back, or where that failed.
func (r *machineRollout) restore(ctx context.Context) (restored *int, failed bool) {
	begun := r.desired.Begun
	if r.approved && (r.desired.Rollout.Strategy == machineset.ScaleToZero || begun != nil && begun.Strategy == machineset.ScaleToZero) {
		// The patch that scales to zero may have been carried out though its answer
		// never came.
		_, _ = r.cluster.RereadSet(ctx, r.set)
	}
	restored, err := bringBack(ctx, r.cluster, r.key, r.set.UID, r.desired.Claim.Owner)
	if err != nil {
		logger(ctx).ErrorContext(ctx, "the count could not be restored", "machine_set", r.key, "error", err.Error())
	}
	return restored, err != nil
}
