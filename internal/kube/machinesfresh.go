// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"slices"
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
	return c.machineSetsSince(ctx, moment)
}

// MachineSetsWith returns all MachineSets, as MachineSets does. They are listed again
// where the one that a target names is not among them: another resource can have made it
// in the same apply, after they were listed. Errors: ErrNoMachineAPI, those of the API
// server.
func (c *Cluster) MachineSetsWith(ctx context.Context, target machineset.Target) ([]machineset.Observed, error) {
	sets, err := c.MachineSets(ctx)
	named := func(o machineset.Observed) bool { return target.Matches(o.Set) }
	if err != nil || target.Selector != nil || slices.ContainsFunc(sets, named) {
		return sets, err
	}
	return c.machineSetsSince(ctx, time.Now())
}

// machineSetsSince lists again what was listed before a moment.
func (c *Cluster) machineSetsSince(ctx context.Context, moment time.Time) ([]machineset.Observed, error) {
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
