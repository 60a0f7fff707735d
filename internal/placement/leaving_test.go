// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// A StatefulSet creates a pod once the one of that name is gone: it takes the room that becomes free, before or
// after the replacement of another workload.
func TestSimulate_whatReplacesATerminatingPodCompetesForItsRoom(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		priority int32
		beside   *snapshot.Pod
		want     Range
	}{
		"of the same priority": {priority: 1, want: Range{0, 1}},
		// The other pod may be tried again before the StatefulSet has created its one, or this is scaled down.
		"of a higher priority": {priority: 2, want: Range{0, 1}},
		"of a lower priority":  {priority: 0, want: exactly(1)},
		"of a higher priority, where a later pod of the set stays": {priority: 2, beside: pod("db-1", "n3", ownedBy("StatefulSet", "db")), want: Range{0, 1}},
		"of a higher priority, where an earlier pod of the set is not ready": {
			priority: 2, beside: pod("db-0", "n3", ownedBy("StatefulSet", "db"), unready), want: exactly(1),
		},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2), having(node("n3"), 1, 1)).
			run(replicas("web", "n1", 1, asking(2, 2), priority(1), patient)...)
		last := pod("db-0", "n2", ownedBy("StatefulSet", "db"), asking(2, 2), priority(tt.priority), patient, terminating)
		if tt.beside != nil {
			w = w.run(tt.beside)
			if tt.beside.Name == last.Name {
				last.Name = "db-1"
			}
		}
		w = w.run(last)
		evicted := append(w.evictAll("n1"), Eviction{Pod: last, Scheduling: last.Scheduling, Ordered: true})
		out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
		if got := out.of(t, "web"); got.Placed != tt.want || got.Delayed != tt.want {
			t.Errorf("%s: placed %v, later %v", name, got.Placed, got.Delayed)
		}
		if len(out.Workloads) != 1 || out.Of(last) != nil || out.Placed != tt.want {
			t.Errorf("%s: the pod that is terminating counts: %+v", name, out)
		}
	}
}

// Its deletion is under way, and takes as long as it takes.
func TestSimulate_secondsOfATerminatingPodDoNotCount(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(2, 2), terminating))
	evicted := w.ordered("n1")
	evicted[0].After = 300
	s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
	if s.run(1, 0); s.replacements[0].since != terminatingGone || s.replacements[0].node != 1 {
		t.Errorf("it is created after %ds, on node %d", s.replacements[0].since, s.replacements[0].node)
	}
}

// An ordered StatefulSet creates no evicted pod before the one that replaces a terminating one runs.
func TestSimulate_whatReplacesTerminatingPodsIsCreatedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 2)).run(
		pod("db-0", "n1", ownedBy("StatefulSet", "db"), asking(9, 9), terminating), pod("db-1", "n1", ownedBy("StatefulSet", "db"), asking(2, 2)))
	out := New(w.Snapshot, gone("n1"), false).Simulate(w.ordered("n1"), Orders, 1)
	if got := out.of(t, "db"); got.NotCreated != exactly(1) || got.Missing != exactly(1) {
		t.Errorf("db-1 comes behind db-0, which is Pending: not created %v, missing %v", got.NotCreated, got.Missing)
	}
}

// TestSimulate_aPodBeyondItsGracePeriodMayStay: a finalizer or a node that is gone holds it up, and its room with it.
func TestSimulate_aPodBeyondItsGracePeriodMayStay(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		old  podOption
		want Range
	}{
		"within it":  {terminating, exactly(0)},
		"beyond it":  {func(p *snapshot.Pod) { p.Terminating, p.Overdue = true, true }, Range{0, 1}},
		"it runs on": {func(*snapshot.Pod) {}, exactly(1)},
	} {
		out := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).
			run(replicas("web", "n1", 1, asking(2, 1))...).run(replicas("old", "n2", 1, asking(2, 1), tt.old)...).simulate()
		if got := out.of(t, "web").Pending; got != tt.want {
			t.Errorf("%s: Pending %v, want %v", name, got, tt.want)
		}
	}
	// A pod of a higher priority does not get rid of it either.
	out := newWorld(having(node("n1"), 9, 9), having(node("n2"), 2, 9)).run(replicas("web", "n1", 1, asking(2, 1), priority(9))...).
		run(replicas("old", "n2", 1, asking(2, 1), func(p *snapshot.Pod) { p.Terminating, p.Overdue = true, true })...).simulate()
	if got := out.of(t, "web").Pending; got != (Range{0, 1}) {
		t.Errorf("of a higher priority: Pending %v", got)
	}
}
