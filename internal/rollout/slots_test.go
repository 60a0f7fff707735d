// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestSlots_letsInAsManyAsAllowedAndNoTwoOfOneObject(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		most    int64
		keys    []string
		running int
	}{
		"one at a time":                {1, []string{"a", "b", "c"}, 1},
		"two at a time":                {2, []string{"a", "b", "c"}, 2},
		"none given means one":         {0, []string{"a", "b"}, 1},
		"one object has one at a time": {5, []string{"a", "a", "b"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var s Slots
				var waited atomic.Int32
				ends := make(chan func(), len(tt.keys))
				for _, key := range tt.keys {
					go func() {
						end, err := s.Begin(t.Context(), key, tt.most, func() { waited.Add(1) })
						if err != nil {
							t.Error(err)
						}
						ends <- end
					}()
				}
				for left := len(tt.keys); left > 0; left-- {
					synctest.Wait()
					if got := len(s.running); got > tt.running {
						t.Errorf("%d run at once, and at most %d may", got, tt.running)
					}
					if waiting := int(waited.Load()); left == len(tt.keys) && (len(s.running) != tt.running || waiting != len(tt.keys)-tt.running) {
						t.Errorf("%d run at first, want %d, and %d have told that they wait", len(s.running), tt.running, waiting)
					}
					(<-ends)()
				}
				if waiting := int(waited.Load()); waiting != len(tt.keys)-tt.running {
					t.Errorf("%d have told that they wait, each once", waiting)
				}
			})
		})
	}
}

func TestSlots_endsWithTheContext(t *testing.T) {
	t.Parallel()
	var s Slots
	end, err := s.Begin(t.Context(), "a", 1, func() { t.Error("it does not wait") })
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Begin(ctx, "b", 1, func() {})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that the context has ended", err)
	}
	if !strings.Contains(err.Error(), "waiting for another rollout to end") {
		t.Errorf("it does not say what it waited for: %v", err)
	}
}
