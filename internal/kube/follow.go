// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"sync"
	"time"
)

// linger is how long the watch outlives the last change: the next one often
// follows immediately.
const linger = 5 * time.Second

// follower counts who needs the collections to be current.
type follower struct {
	mu    sync.Mutex
	users int
	stop  context.CancelFunc
	idle  *time.Timer
	pods  bool
	// machines is set while MachineSets and Machines are followed as well.
	machines bool
	ctx      context.Context //nolint:containedctx // It ends the watches, not a call.
}

// Follow keeps nodes current by a watch, and pods as well where they are
// asked for, until the returned function is called. All changes of a process
// share the watches. The context bounds only the first load.
func (c *Cluster) Follow(ctx context.Context, withPods bool) (release func(), err error) {
	return c.follow(ctx, withPods, false)
}

// FollowMachines keeps MachineSets and Machines current beside nodes and pods.
// Errors: ErrNoMachineAPI, those of the API server.
func (c *Cluster) FollowMachines(ctx context.Context) (release func(), err error) {
	return c.follow(ctx, true, true)
}

func (c *Cluster) follow(ctx context.Context, withPods, withMachines bool) (release func(), err error) {
	f := &c.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.idle != nil {
		f.idle.Stop()
		f.idle = nil
	}
	// A watch would catch up with what happened since the last list, but there
	// is no telling when it has: a decision needs a new list.
	if f.stop == nil {
		if err := c.nodes.refresh(ctx); err != nil {
			return nil, err
		}
		f.ctx, f.stop = context.WithCancel(context.Background())
		c.nodes.follow(f.ctx)
	}
	if withPods && !f.pods {
		if err := c.pods.refresh(ctx); err != nil {
			c.retire()
			return nil, err
		}
		c.pods.follow(f.ctx)
		f.pods = true
	}
	if withMachines && !f.machines {
		if err := parallel(func() error { return c.sets.refresh(ctx) }, func() error { return c.machines.refresh(ctx) }); err != nil {
			c.retire()
			return nil, noMachineAPI(err)
		}
		c.sets.follow(f.ctx)
		c.machines.follow(f.ctx)
		f.machines = true
	}
	f.users++
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.users--
		c.retire()
	}), nil
}

// retire ends the watches a while after no caller needs them any more. The caller
// holds the follower's lock.
func (c *Cluster) retire() {
	f := &c.follower
	if f.users > 0 || f.stop == nil {
		return
	}
	f.idle = time.AfterFunc(linger, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.users == 0 && f.stop != nil {
			f.stop()
			f.stop, f.pods, f.machines = nil, false, false
		}
	})
}
