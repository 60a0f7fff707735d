// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// patience is how long a request is tried again while its errors are transient.
type patience wait.Backoff

var (
	// reading gives up soon: a plan against a cluster that is down should say
	// so within seconds.
	reading = patience{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 4}
	// writing outlasts the restart of an API server: half a change is worse
	// than a slow one.
	writing = patience{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.2, Steps: 9, Cap: 4 * time.Second}
)

// do repeats a request while its error is transient. Every request that goes
// through it may be sent twice without harm: reads, and writes that carry a
// resource version.
func (p patience) do(ctx context.Context, request func(context.Context) error) error {
	backoff := wait.Backoff(p)
	for {
		err := request(ctx)
		if err == nil || !transient(err) || ctx.Err() != nil || backoff.Steps <= 1 {
			return err
		}
		pause(ctx, backoff.Step())
	}
}

// pause waits for a while or until the context ends.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
