// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

const (
	// seenTimeout bounds the wait for the watch to show a write. A watch that is
	// being opened again after the API server's restart needs a moment.
	seenTimeout = 10 * time.Second

	// A process confirms the first calls of Settle by a read, and then one for so many
	// written nodes: hundreds of resources must not double the requests of an apply.
	firstConfirmations, nodesPerConfirmation = 5, 40
)

// Settle waits until the watch has shown these nodes as written, and then for
// a moment more: others write the list without a guard, and what they read
// before our write they send after it. The watch may show such a write later than the
// moment ends, so nodes that it shows unchanged are read once more. Settle returns the
// nodes as they are then; one that is gone is left out. The cluster must be followed
// meanwhile.
func (c *Cluster) Settle(ctx context.Context, written []*snapshot.Node, moment time.Duration) ([]*snapshot.Node, error) {
	defer c.confirmations.begin()()
	bounded, cancel := context.WithTimeout(ctx, seenTimeout)
	defer cancel()
	started, share := time.Now(), moment
	err := c.nodes.await(bounded, func() bool {
		for _, n := range written {
			if !c.nodes.seen(n.ResourceVersion) {
				return false
			}
		}
		return true
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		// The more a busy machine lags behind with what was written here, the more it does
		// with what others have written since.
		moment += time.Since(started)
	}
	pause(ctx, moment)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err == nil {
		err = c.confirm(ctx, written, share)
	} else {
		// The watch does not come: read instead of trusting it.
		err = c.reread(ctx, written)
	}
	if err != nil {
		return nil, err
	}
	out := make([]*snapshot.Node, 0, len(written))
	for _, n := range written {
		if current, ok := c.nodes.get(n.Name); ok {
			out = append(out, current)
		}
	}
	return out, context.Cause(ctx)
}

// reread reads nodes one by one, since the watch does not come: it may be that the API server has restarted. One that is gone is no
// error.
func (c *Cluster) reread(ctx context.Context, nodes []*snapshot.Node) error {
	for _, n := range nodes {
		if _, err := c.readNode(ctx, n.Name, writing.again); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}
