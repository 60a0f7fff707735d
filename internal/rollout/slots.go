// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"context"
	"fmt"
	"sync"
)

// Slots bounds how many rollouts of machines run at the same time in a run, and lets
// no two change the same object, which a semaphore does not.
type Slots struct {
	mu      sync.Mutex
	running map[string]bool
	changed chan struct{}
}

// Begin waits until fewer than most rollouts run and none of this object does, and
// tells once that it waits. The returned function ends it. The error is that of the
// context.
func (s *Slots) Begin(ctx context.Context, key string, most int64, waits func()) (end func(), err error) {
	tell := sync.OnceFunc(waits)
	for {
		ended := s.try(key, int(most))
		if ended == nil {
			return sync.OnceFunc(func() { s.end(key) }), nil
		}
		tell()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for another rollout to end: %w", context.Cause(ctx))
		case <-ended:
		}
	}
}

// try takes a slot, or returns what tells of the next end.
func (s *Slots) try(key string, most int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == nil {
		s.running, s.changed = map[string]bool{}, make(chan struct{})
	}
	if len(s.running) >= max(most, 1) || s.running[key] {
		return s.changed
	}
	s.running[key] = true
	return nil
}

func (s *Slots) end(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, key)
	close(s.changed)
	s.changed = make(chan struct{})
}
