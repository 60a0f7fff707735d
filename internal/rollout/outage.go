// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"fmt"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// outlast repeats a part of a drain while the API server is out of reach and there is time, as evictions
// are asked for again: pods are evicted already, and what they wait for comes by itself. The part may be
// repeated without harm. Errors: those of the part; one of the end of the time names the outage.
func (d *draining) outlast(ctx context.Context, part func(context.Context) error) error {
	for {
		err := part(ctx)
		switch {
		case err == nil:
			d.outage = nil
			return nil
		case ctx.Err() != nil && d.outage != nil:
			return fmt.Errorf("%w, while the API server was out of reach: %s", context.Cause(ctx), d.outage.Error())
		case ctx.Err() != nil, !errors.Is(err, kube.ErrUnreachable), kube.Unusable(err):
			return err
		}
		if d.outage == nil {
			logger(ctx).WarnContext(ctx, "the API server is out of reach", "error", err.Error())
			d.say("the API server is out of reach, and the drain waits for it: %s", err)
		}
		d.outage = err
		d.cluster.NextPods(ctx, evictAgain)
	}
}

// snapshot returns the cluster as it is known now.
func (d *draining) snapshot(ctx context.Context) (s *snapshot.Snapshot, err error) {
	err = d.outlast(ctx, func(ctx context.Context) error {
		s, err = d.cluster.Snapshot(ctx)
		return err
	})
	return s, err
}
