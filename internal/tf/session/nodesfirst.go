// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package session

import (
	"context"
	"slices"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// roomyNodes is how many nodes beside the changed ones are asked for room: a pod that may not be scheduled
// again on its node needs one other node, and most fit on any.
const roomyNodes = 2

// seenFor returns the cluster for a preview, nil where the pods of the changed nodes show that there
// is nothing to tell. Links and tolerations that are removed with the taints are about pods of any
// node. Errors: those of the API server.
func (d *Data) seenFor(ctx context.Context, c TaintChange, linked []string) (*snapshot.Snapshot, error) {
	if len(c.Workloads)+len(linked) == 0 && c.TaintsNodes() {
		nothing, err := d.evictsNothing(ctx, c)
		if nothing || kube.OutOfReach(err) {
			return nil, err
		}
	}
	return d.Cluster.Snapshot(ctx)
}

// evictsNothing reports whether the pods of the changed nodes, and those of a few others, show that
// there is nothing to tell about a change. It is false where they do not, and where it is cheaper to
// read all pods: whatever is told then is worked out from these alone.
func (d *Data) evictsNothing(ctx context.Context, c TaintChange) (bool, error) {
	seen, ok, err := d.Cluster.SnapshotOfNodes(ctx, c.Changed)
	if !ok || err != nil {
		return false, err
	}
	c.Planned = d.Planned.Tolerations(c.Owner, nil)
	plan := planner.Order(seen, c.Change, d.Comparison)
	if !planner.Unaffected(seen, c.Planned) || !plan.Settled(false) && !plan.OpenPlaces() {
		return false, nil
	}
	does := plan.Does()
	does.MaxPending = c.Words.MaxPending
	others := d.Effects.Note(c.Owner, does, d.MaxConcurrentRollouts == 1)
	switch {
	case others.Evicts():
		// All pods are read by now. Replacements of theirs may lose the room that they would find on these nodes.
		return false, nil
	case plan.Settled(false):
		return true, nil
	}
	seen, ok, err = d.Cluster.SnapshotOfNodes(ctx, slices.Concat(c.Changed, planner.Roomy(seen.Beside(others), c.Changed, roomyNodes)))
	if !ok || err != nil {
		return false, err
	}
	asIs, err := d.Cluster.AdmitsAsIs(ctx, seen)
	return err == nil && asIs && planner.Order(seen.Beside(others), c.Change, d.Comparison).Settled(true), err
}
