// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestOtherSchedulers_theirPodsMayTakeRoomFirst: Pending pods of another scheduler compete in some orders, and preempt in
// none.
func TestOtherSchedulers_theirPodsMayTakeRoomFirst(t *testing.T) {
	t.Parallel()
	volcano := func(p *snapshot.Pod) { p.Demand.Scheduler = "volcano" }
	for name, tt := range map[string]struct {
		options []podOption
		web     podOption
		want    Range
	}{
		"of the default scheduler, with a higher one": {[]podOption{priority(9)}, priority(0), exactly(1)},
		"of another one":                    {[]podOption{volcano}, priority(0), Range{0, 1}},
		"of another one, with a higher one": {[]podOption{volcano, priority(9)}, priority(0), Range{0, 1}},
		"of another one, with a lower one":  {[]podOption{volcano}, priority(9), exactly(0)},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
			run(replicas("web", "n1", 1, asking(2, 1), tt.web)...).
			waiting("job", 1, append([]podOption{asking(2, 1)}, tt.options...)...)
		out := w.simulate()
		if got := out.of(t, "web").Pending; got != tt.want || out.Preempted != exactly(0) {
			t.Errorf("%s: Pending %v, want %v, preempted %v", name, got, tt.want, out.Preempted)
		}
	}
}

// TestPreemption_aBarePodIsGone: one that was Pending finds room, and loses it to a pod that is evicted later.
func TestPreemption_aBarePodIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		bare bool
		want Range
	}{
		"without a controller": {true, exactly(0)},
		"with a controller":    {false, exactly(1)},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
			run(replicas("web", "n1", 1, asking(2, 1), priority(10))...).
			waiting("one", 1, asking(2, 1))
		if tt.bare {
			w.Waiting[0].Controller = nil
		}
		evicted := w.evictAll("n1")
		evicted[0].After = 300
		s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
		s.try(Orders, 1)
		one := s.workloads[s.workload(w.Waiting[0])]
		if web := s.workloads[s.workload(evicted[0].Pod)]; one.AllMissing != tt.want || web.Pending != exactly(0) {
			t.Errorf("%s: %v are Pending, want %v; of web %v", name, one.AllMissing, tt.want, web.Pending)
		}
	}
}
