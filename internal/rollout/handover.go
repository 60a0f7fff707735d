// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// HandOver gives the record of what machines of the selected MachineSets kept from one claim to
// another, and changes nothing else. Errors: *RevertedError, those of kube.
func HandOver(ctx context.Context, cluster *kube.Cluster, target machineset.Target, from, to taint.Claim) error {
	sets, err := cluster.MachineSets(ctx)
	for _, o := range sets {
		if err == nil && target.Matches(o.Set) {
			err = ignore(handOver(ctx, cluster, o.Set, from, to), kube.ErrNotFound)
		}
	}
	return err
}

func handOver(ctx context.Context, cluster *kube.Cluster, set *machineset.Set, from, to taint.Claim) error {
	for range maxConflicts {
		next, some := set.Remnants.HandOver(set.Object(), from, to)
		if !some {
			return nil
		}
		_, err := cluster.PatchSet(ctx, set, &machineset.SetWrite{Remnants: &next})
		if !errors.Is(err, kube.ErrConflict) {
			return err
		}
		if set, err = cluster.RereadSet(ctx, set); err != nil {
			return err
		}
	}
	return busyAbout(set, machineset.Intent{})
}
