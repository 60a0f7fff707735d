// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
)

// LabelConflictError reports that another writer has given a wanted label another value.
// Nothing more is written once it is returned.
type LabelConflictError struct {
	Set       *machineset.Set
	Conflicts []machineset.LabelConflict
}

// Error names the first conflict.
func (e *LabelConflictError) Error() string {
	c := e.Conflicts[0]
	return fmt.Sprintf("label %q of %s has another owner", c.Key, c.Where)
}

// CheckLabels reports whether the labels of a MachineSet can be written. A node whose record cannot
// be read is skipped, unless everything is given up: no resource would manage its labels afterwards.
// Errors: *StoppedError, *LabelConflictError.
func CheckLabels(o machineset.Observed, claim label.Claim) error {
	if o.Set.LabelRecordErr != nil {
		return cannotRead(o.Set, o.Set.Title(), o.Set.LabelRecordErr)
	}
	for _, name := range o.Unreadable() {
		if claim.Release {
			return cannotRead(o.Set, fmt.Sprintf("node %q", name), o.Nodes[name].LabelRecordErr)
		}
	}
	if l := machineset.PlanLabels(o, claim); len(l.Conflicts) > 0 {
		return &LabelConflictError{Set: o.Set, Conflicts: l.Conflicts}
	}
	return nil
}

// CheckSetChange reports whether a MachineSet can be changed. Errors: *StoppedError,
// *SetConflictError, *LabelConflictError.
func CheckSetChange(c planner.SetChange) error {
	taints, labels := CheckSet(c.Set, c.Desired), CheckLabels(c.Observed, c.Labels)
	// A record that cannot be read is said first: it can be why taints have no owner.
	if stopped := new(StoppedError); taints == nil || !errors.As(taints, &stopped) && errors.As(labels, &stopped) {
		return labels
	}
	return taints
}

// sets are the changes of MachineSets as they are known now.
func (r *run) sets(ctx context.Context) (planner.MachineSets, error) {
	all, err := r.cluster.MachineSets(ctx)
	if err != nil {
		return planner.MachineSets{}, err
	}
	desired := r.change.MachineSets
	changes := desired.Changes(all)
	if desired.Target.Selector == nil && !desired.Desired.Claim.Release && !slices.ContainsFunc(changes.Sets, func(c planner.SetChange) bool { return desired.Target.Matches(c.Set) }) {
		return planner.MachineSets{}, &SetGoneError{Key: desired.Target.String()}
	}
	if desired.Labels.Owner == "" {
		// Each rollout looks at its own MachineSet, and one keeps no other from going on.
		return changes, nil
	}
	for _, c := range changes.Sets {
		if err := CheckSetChange(c); err != nil {
			return planner.MachineSets{}, err
		}
	}
	return changes, nil
}

// labelSets makes a step that labels the nodes of MachineSets; what goes is kept for
// as long as pods may require it.
func (r *run) labelSets(ctx context.Context, keep bool) error {
	changes, err := r.sets(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes.Sets {
		c.Labels.Keep = keep
		if err := labelSet(ctx, r.cluster, c.Set.Key(), c.Labels); err != nil {
			return err
		}
	}
	return nil
}

// labelSet brings labels to the template of a MachineSet, to its Machines and to their
// nodes, or takes them away, and looks again until nothing is left to do. A MachineSet
// that is gone has nothing left.
func labelSet(ctx context.Context, cluster *kube.Cluster, key string, claim label.Claim) error {
	r := &machineRollout{cluster: cluster, key: key, writes: map[string]int{}, conflicts: map[string]int{}}
	for {
		o, there := cluster.MachineSet(key)
		if !there {
			return nil
		}
		if err := CheckLabels(o, claim); err != nil {
			return err
		}
		l := machineset.PlanLabels(o, claim)
		if len(l.Intents) == 0 && !l.Waits {
			return nil
		}
		if l.Waits {
			cluster.NextMachines(ctx, lookAtMachines)
		}
		r.set = o.Set
		for _, intent := range l.Intents {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			if err := r.label(ctx, intent); err != nil {
				return err
			}
		}
		if err := cmp.Or(r.settle(ctx), context.Cause(ctx)); err != nil {
			return err
		}
		if len(l.Machines) > 0 {
			hear(ctx)
		}
	}
}

// label makes one write of labels, or reads again what another client has changed. Errors: *RevertedError, those of
// kube.
func (r *machineRollout) label(ctx context.Context, intent machineset.Intent) error {
	// Machines that come one after the other are no conflict.
	about := intent.About()
	if r.writes[about] >= maxRounds {
		return revertedAbout(r.set, intent)
	}
	logger(ctx).InfoContext(ctx, "writing labels of machines", "machine_set", r.key, "what", string(intent.Kind), "reason", intent.Reason)
	err := r.write(ctx, intent)
	if !errors.Is(err, kube.ErrConflict) && !errors.Is(err, kube.ErrNotFound) {
		r.writes[about]++
		return err
	}
	if r.conflicts[about]++; r.conflicts[about] > maxConflicts {
		return busyAbout(r.set, intent)
	}
	return r.reread(ctx, intent)
}

// hear gives nodelink a moment to hear of its Machines before their nodes are written. It saves writes and decides nothing:
// labels that nodelink restores all the same are removed in the next round.
func hear(ctx context.Context) {
	moment := time.NewTimer(settleMoment)
	defer moment.Stop()
	select {
	case <-ctx.Done():
	case <-moment.C:
	}
}
