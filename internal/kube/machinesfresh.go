// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
)

// FreshMachineSets returns all MachineSets with their Machines and nodes for a data
// source, which may be read in the middle of an apply: as Refresh does, it lists
// again what was listed before the last write of this process, or a while ago.
// Errors: ErrNoMachineAPI, those of the API server.
func (c *Cluster) FreshMachineSets(ctx context.Context) ([]machineset.Observed, error) {
	moment := time.Now().Add(-shelfLife)
	if wrote := c.wrote.Load(); wrote != nil && wrote.After(moment) {
		moment = *wrote
	}
	c.follower.mu.Lock()
	nodes, machines := c.follower.stop != nil, c.follower.machines
	c.follower.mu.Unlock()
	err := parallel(
		func() error { return freshen(ctx, c.nodes, nodes, moment) },
		func() error { return freshen(ctx, c.sets, machines, moment) },
		func() error { return freshen(ctx, c.machines, machines, moment) },
	)
	if err != nil {
		return nil, noMachineAPI(err)
	}
	return c.MachineSets(ctx)
}

// freshen lists a collection again that was listed before a moment; one that is
// followed is current by itself.
func freshen[T any](ctx context.Context, c *collection[T], followed bool, moment time.Time) error {
	if followed || !c.listedBefore(moment) {
		return nil
	}
	return c.refresh(ctx)
}
