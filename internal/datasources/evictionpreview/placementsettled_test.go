// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"testing"
	"time"
)

// TestSettledFor_jobsCreatePodsLater waits before the change as well: a Job creates pods later than others where some were
// preempted, and the change finds it without them otherwise.
func TestSettledFor_jobsCreatePodsLater(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		there  int32
		failed bool
		least  time.Duration
		most   time.Duration
	}{
		"all pods":               {there: 3},
		"one pod preempted":      {there: 2, least: 10 * time.Second, most: 30 * time.Second},
		"all pods preempted":     {least: 40 * time.Second, most: time.Minute},
		"the Job has failed":     {failed: true, most: retried},
		"it fails with pods yet": {there: 2, failed: true, most: retried},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &places{workloads: map[string]int32{"w": 3}, kindOf: map[string]string{"w": jobs}}
			if got := p.settledFor(false, false, map[string]int32{"w": tt.there}, map[string]bool{"w": tt.failed}); got < tt.least || got > tt.most {
				t.Errorf("settled after %s, want %s to %s", got, tt.least, tt.most)
			}
		})
	}
}
