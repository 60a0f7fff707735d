// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package provider

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// TestGrowth: a small heap may grow to 96 MiB, a large one by a quarter.
func TestGrowth(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		live uint64
		want int
	}{{0, 800}, {1 << 20, 800}, {16 << 20, 500}, {32 << 20, 200}, {48 << 20, 100}, {64 << 20, 50}, {70 << 20, 37}, {80 << 20, 25}, {1 << 40, 25}} {
		if got := growth(tt.live); got != tt.want {
			t.Errorf("with %d bytes in use it is %d %%, want %d", tt.live, got, tt.want)
		}
	}
}

// TestAfterCollections_isCalledAfterEach: one object after the other is collected.
func TestAfterCollections_isCalledAfterEach(t *testing.T) {
	t.Parallel()
	const most = 10 * time.Second
	var calls atomic.Int64
	afterCollections(func() { calls.Add(1) })
	// Cleanups run in a goroutine of the runtime, some time after a collection.
	for until := time.Now().Add(most); calls.Load() < 3; runtime.Gosched() {
		if runtime.GC(); time.Now().After(until) {
			t.Fatalf("it was called %d times by collections within %s", calls.Load(), most)
		}
	}
}
