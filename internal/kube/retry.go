// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// retryPolicy is how long a request is tried again while its errors are transient:
// tries of them, with a pause that doubles from first to most.
type retryPolicy struct {
	first, most time.Duration
	tries       int
}

var (
	// reading gives up soon: a plan against a cluster that is down should say
	// so within seconds.
	reading = retryPolicy{first: 200 * time.Millisecond, most: 4 * time.Second, tries: 4}
	// writing outlasts the restart of an API server: half a change is worse
	// than a slow one.
	writing = retryPolicy{first: 200 * time.Millisecond, most: 4 * time.Second, tries: 10}
)

// do repeats a request while its error is transient. Every request that goes
// through it may be sent twice without harm: reads, and writes that carry a
// resource version.
func (p retryPolicy) do(ctx context.Context, request func(context.Context) error) error {
	return p.repeat(ctx, false, request)
}

// again is as do where other requests have been in trouble before: the API server may have just come up.
func (p retryPolicy) again(ctx context.Context, request func(context.Context) error) error {
	return p.repeat(ctx, true, request)
}

func (p retryPolicy) repeat(ctx context.Context, troubled bool, request func(context.Context) error) error {
	delay := p.first
	for try := 1; ; try++ {
		err := request(ctx)
		again := transient(err)
		if troubled {
			// An API server that has just come up knows neither rights nor
			// tokens until it has read them.
			again = again || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)
		}
		if !again || ctx.Err() != nil || try == p.tries {
			return err
		}
		troubled = true
		// wait.Backoff is of no use here: it stops counting where its cap is
		// reached.
		pause(ctx, wait.Jitter(delay, 0.2))
		delay = min(2*delay, p.most)
	}
}

// conflictDelay is what every further conflict adds to the pause before the next
// try.
const conflictDelay = 20 * time.Millisecond

// maxConflicts bounds how often an edit is made again, which is about three minutes: another
// client that never stops writing must not hold an apply forever.
const maxConflicts = 200

// retryOnConflict makes an edit again from a fresh reading while another client has written
// the object between its reading and its write. Errors: those of edit, ErrConflict once there
// were too many of them.
func retryOnConflict(ctx context.Context, edit func(conflicts int) error) error {
	for conflicts := 0; ; conflicts++ {
		// The first conflict only reports that what is known is old. More of them
		// are a writer who writes as fast, and no reason to flood the server.
		pause(ctx, min(time.Duration(max(conflicts-1, 0))*conflictDelay, time.Second))
		err := edit(conflicts)
		switch {
		case !errors.Is(err, ErrConflict) || ctx.Err() != nil:
			return err
		case conflicts == maxConflicts:
			return fmt.Errorf("another client changed the object before each of %d writes: %w", conflicts+1, err)
		}
	}
}

// edits has this process make one edit of an object at a time: siblings that write the same object would only
// meet each other's conflicts.
type edits struct {
	mu    sync.Mutex
	slots map[string]*semaphore.Weighted
}

// of returns the slot of an object.
func (e *edits) of(object string) *semaphore.Weighted {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slots == nil {
		e.slots = map[string]*semaphore.Weighted{}
	}
	if e.slots[object] == nil {
		e.slots[object] = semaphore.NewWeighted(1)
	}
	return e.slots[object]
}

// inTurn makes an edit of an object again as retryOnConflict does, each time while no other edit of this process
// is under way there. Errors: those of retryOnConflict, and of the context.
func (e *edits) inTurn(ctx context.Context, object string, edit func(conflicts int) error) error {
	slot := e.of(object)
	return retryOnConflict(ctx, func(conflicts int) error {
		if slot.Acquire(ctx, 1) != nil {
			return context.Cause(ctx)
		}
		defer slot.Release(1)
		return edit(conflicts)
	})
}

// requestTimeout bounds one request, or one page of a list: an API server that
// accepts a connection and never answers must not hang a plan.
const requestTimeout = 30 * time.Second

// bounded bounds a request by requestTimeout, for use with do. The error of a request that ends by that is no
// context.DeadlineExceeded: the caller may have hours left.
func bounded(request func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		one, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		err := request(one)
		// The client's rate limiter looks ahead, so that no context has ended yet.
		until, hasEnd := ctx.Deadline()
		ends, _ := one.Deadline()
		ahead := err != nil && overdue(err) && (!hasEnd || ends.Before(until))
		if ctx.Err() == nil && (ahead || errors.Is(err, context.DeadlineExceeded)) {
			return &noAnswerError{err: err, waited: one.Err() != nil}
		}
		return err
	}
}

// noAnswerError is the error of a request that took too long, where its caller has time left. It unwraps to
// nothing: a timeout of the connection is a context.DeadlineExceeded too.
type noAnswerError struct {
	err error
	// waited is set where the answer was waited for as long as it may be.
	waited bool
}

// Error returns the original error.
func (e *noAnswerError) Error() string {
	if e.waited {
		return fmt.Sprintf("no answer within %s: %s", requestTimeout, e.err)
	}
	return e.err.Error()
}

// unanswered reports whether an error is one of a request that took too long.
func unanswered(err error) bool {
	none := new(noAnswerError)
	return errors.As(err, &none)
}

// pause waits for a while or until the context ends.
//
// Go 1.26 runs a timer of no duration on the goroutine that starts it. Where two goroutines of a test's bubble do so, its
// race detector crashes: one context serves all timers of a bubble (runtime/time.go, unlockAndRun).
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
