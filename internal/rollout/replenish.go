// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// bringBack returns the count that it has brought back, nil where there is nothing to bring
// back.
func bringBack(ctx context.Context, cluster *kube.Cluster, key string, uid types.UID, owner string) (*int, error) {
	for conflicts := 0; ctx.Err() == nil; conflicts++ {
		observed, there := cluster.MachineSet(key)
		if !there || observed.Set.UID != uid {
			return nil, nil
		}
		w := machineset.Restore(observed.Set, owner)
		if w == nil {
			return nil, nil
		}
		_, err := cluster.PatchSet(ctx, observed.Set, w)
		if err == nil {
			return w.Replicas, nil
		}
		if !errors.Is(err, kube.ErrConflict) || conflicts == maxConflicts {
			return nil, err
		}
		if _, err := cluster.RereadSet(ctx, observed.Set); err != nil {
			return nil, err
		}
	}
	return nil, context.Cause(ctx)
}

// replenish brings back the counts that an interrupted rollout of this owner has left at zero,
// before a wait for pods: these may have no place but on the machines that come, and the
// rollout that would bring them comes after the wait.
func (r *run) replenish(ctx context.Context) error {
	if r.change.MachineSets == nil || !slices.ContainsFunc(r.change.Workloads, func(t Tolerations) bool { return !t.Claim.Release && !t.NoWait }) {
		return nil
	}
	sets, err := r.sets(ctx)
	if err != nil {
		return err
	}
	for _, c := range sets.Sets {
		if _, err := bringBack(ctx, r.cluster, c.Set.Key(), c.Set.UID, r.change.MachineSets.Desired.Claim.Owner); err != nil {
			return err
		}
	}
	return nil
}

// bringBackInterrupted brings back the counts that interrupted rollouts have left at zero and that do not go on now: rollouts
// of others come first, or none begins any more. It does so past a context that has ended.
func (r *run) bringBackInterrupted(ctx context.Context, all ...machineset.Affected) {
	detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTimeout)
	defer cancel()
	for _, a := range all {
		if a.Effect.Interrupted == nil {
			continue
		}
		if _, err := bringBack(detached, r.cluster, a.Set.Key(), a.Set.UID, r.change.MachineSets.Desired.Claim.Owner); err != nil {
			logger(ctx).ErrorContext(ctx, "the count could not be restored", "machine_set", a.Set.Key(), "error", err.Error())
		}
	}
}
