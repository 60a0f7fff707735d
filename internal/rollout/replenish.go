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

// Replenish brings back the count of a MachineSet that an interrupted rollout of this owner
// has left at zero. It comes before a wait for pods: these may have no place but on the
// machines that come, and the rollout that would bring them comes after the wait. The
// machines must be followed meanwhile. Errors: those of kube.
func Replenish(ctx context.Context, cluster *kube.Cluster, set *machineset.Set, owner string) error {
	_, err := bringBack(ctx, cluster, set.Key(), set.UID, owner)
	return err
}

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

// replenish does it for the MachineSets of a change whose workloads are waited for.
func (r *run) replenish(ctx context.Context) error {
	if r.change.MachineSets == nil || !slices.ContainsFunc(r.change.Workloads, func(t Tolerations) bool { return !t.Claim.Release && !t.NoWait }) {
		return nil
	}
	sets, err := r.sets(ctx)
	if err != nil {
		return err
	}
	for _, c := range sets.Sets {
		if err := Replenish(ctx, r.cluster, c.Set, r.change.MachineSets.Desired.Claim.Owner); err != nil {
			return err
		}
	}
	return nil
}
