// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package kube

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Callers learn from context.DeadlineExceeded that their own time is over.
func TestBounded_theEndOfOneRequestIsNoneOfItsCaller(t *testing.T) {
	t.Parallel()
	unanswered := func(ctx context.Context) error {
		<-ctx.Done()
		return &url.Error{Op: "Get", URL: "https://k/api/v1/pods", Err: ctx.Err()}
	}
	limited := func(context.Context) error {
		return errors.New("client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline")
	}
	// Package net returns this where a dial takes longer than its own timeout.
	unconnected := func(context.Context) error {
		return &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Net: "tcp", Err: slowDial{}}}
	}
	for name, tt := range map[string]struct {
		request func(context.Context) error
		timeout time.Duration
		over    bool
		says    string
	}{
		"a request without an answer, of a caller with an hour":     {unanswered, time.Hour, false, `get: no answer within 30s: Get "https://k/api/v1/pods": context deadline exceeded`},
		"of a caller without an end":                                {unanswered, 0, false, `get: no answer within 30s: Get "https://k/api/v1/pods": context deadline exceeded`},
		"of a caller whose time is over first":                      {unanswered, 10 * time.Second, true, `get: Get "https://k/api/v1/pods": context deadline exceeded`},
		"a connection that does not come about":                     {unconnected, time.Hour, false, `get: Get "": dial tcp: i/o timeout`},
		"too many requests at once, of a caller with an hour":       {limited, time.Hour, false, "get: client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline"},
		"too many requests at once, of a caller whose time is over": {limited, 10 * time.Second, true, "get: context deadline exceeded (client rate limiter Wait returned an error: rate: Wait(n=1) would exceed context deadline)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.timeout > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.timeout)
					defer cancel()
				}
				err := bounded(tt.request)(ctx)
				if wrapped := wrap("get", err); errors.Is(wrapped, context.DeadlineExceeded) != tt.over || !errors.Is(wrapped, ErrUnreachable) || wrapped.Error() != tt.says {
					t.Errorf("got %q: the caller's end %t, out of reach %t", wrapped, !tt.over, errors.Is(wrapped, ErrUnreachable))
				}
			})
		})
	}
}

// slowDial is net.timeoutError, which is not exported.
type slowDial struct{}

func (slowDial) Error() string   { return "i/o timeout" }
func (slowDial) Is(e error) bool { return e == context.DeadlineExceeded }

func TestBounded_leavesOtherErrorsAlone(t *testing.T) {
	t.Parallel()
	for _, want := range []error{nil, errors.New("no idea"), fmt.Errorf("get: %w", context.Canceled)} {
		if err := bounded(func(context.Context) error { return want })(t.Context()); !errors.Is(err, want) || err != want { //nolint:errorlint // It is the same.
			t.Errorf("%v became %v", want, err)
		}
	}
}

// TestPause_ofNoTimeStartsNoTimer ends without a crash of the race detector, see pause.
func TestPause_ofNoTimeStartsNoTimer(t *testing.T) {
	t.Parallel()
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			began := time.Now()
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					for range 100 {
						pause(t.Context(), 0)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); took != 0 {
				t.Errorf("pauses of no time took %s", took)
			}
		})
	}
}
