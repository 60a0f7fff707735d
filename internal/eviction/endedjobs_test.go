// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/placement"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// jobBeside has two pods of a Job, one of which fills n2, and a pod of web on n1 that fits n2 alone.
func jobBeside(jobs ...snapshot.Job) world {
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
		pod("a", "n1", ofJob("batch"), asking(2, 2)), pod("b", "n2", ofJob("batch"), asking(2, 2)), pod("web", "n1", asking(2, 2)))
	for _, job := range jobs {
		w = w.job("batch", job)
	}
	return w
}

func TestSimulate_otherPodsOfAFailedJobFreeTheirRoom(t *testing.T) {
	t.Parallel()
	waits := jobBeside(snapshot.Job{})
	waits.Waiting = append(waits.Waiting, pod("c", "", ofJob("batch"), asking(2, 2), pending))
	later := jobBeside(snapshot.Job{})
	tolerating(lasting(exists("a", ""), 60))(later.Pods["n1"][0])
	maybe := placement.Range{Max: 1}
	for name, tt := range map[string]struct {
		world           world
		placed, pending placement.Range
		proved          int
	}{
		"the Job fails": {world: jobBeside(snapshot.Job{}), placed: number(1)},
		"the Job fails, and one of its pods waits":    {world: waits, placed: number(1)},
		"the Job fails once a toleration has run out": {world: later, placed: number(1)},
		"the Job may fail":                            {world: jobBeside(snapshot.Job{OnlyFailed: true}), placed: maybe, pending: maybe},
		"the Job was not read":                        {world: jobBeside(), placed: maybe, pending: maybe},
		"the Job goes on":                             {world: jobBeside(snapshot.Job{BackoffLimit: 6}), pending: number(1), proved: 1},
		"the Job has ended":                           {world: jobBeside(snapshot.Job{Ended: true}), pending: number(1), proved: 1},
		"an index fails":                              {world: jobBeside(snapshot.Job{BackoffLimit: 9, PerIndex: new(int32)}), pending: number(1), proved: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, out := simulate(tt.world, tainting("n1", "a:NoExecute"))
			got := outcomeOf(t, out, "web-5d")
			if got.Placed != tt.placed || got.Pending != tt.pending || got.Proved != tt.proved {
				t.Errorf("placed %v, Pending %v, proved %d", got.Placed, got.Pending, got.Proved)
			}
			if len(r.Pods) != 2 {
				t.Errorf("%d verdicts", len(r.Pods))
			}
		})
	}
}
