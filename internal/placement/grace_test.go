// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// recreatedLater is a node with pods of a Deployment and of a StatefulSet, and another one with so many places.
func recreatedLater(places int64, deployed, ordered int, wait int64, options ...podOption) (world, []Eviction) {
	w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 99, 99))
	w.Nodes["n1"].Allocatable.Pods, w.Nodes["n2"].Allocatable.Pods = 99, places
	w.run(replicas("db", "n1", ordered, append([]podOption{asking(0, 0), ownedBy("StatefulSet", "db")}, options...)...)...).run(replicas("web", "n1", deployed, asking(0, 0))...)
	evicted := w.evictAll("n1")
	for i := range evicted {
		if evicted[i].Pod.Controller.StatefulSet() {
			evicted[i].Wait = wait
		}
	}
	return w, evicted
}

func (w world) outcome(evicted []Eviction, seed uint64) *Outcome {
	return New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, seed)
}

// A ReplicaSet replaces a pod once it is terminating, a StatefulSet once it is gone: its pod finds no room then. It does where
// the old pod ends sooner. No seed may hide either of them.
func TestGrace_statefulSetsReplaceTheirPodsLater(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		w, evicted := recreatedLater(20, 20, 1, 30)
		out := w.outcome(evicted, seed)
		if web, db := out.of(t, "web"), out.of(t, "db"); web.Pending != (Range{0, 1}) || db.Pending != (Range{0, 1}) || web.Proved+db.Proved > 0 {
			t.Errorf("seed %d: %v pods of the Deployment are Pending, %v of the StatefulSet", seed, web.Pending, db.Pending)
		}
		w, evicted = recreatedLater(5, 5, 5, 30)
		out = w.outcome(evicted, seed)
		if web, db := out.of(t, "web"), out.of(t, "db"); web.Pending.Min != 0 || web.Pending.Max < 3 || db.Pending.Max != 5 || db.Pending.Min > 2 || out.Pending != exactly(5) {
			t.Errorf("seed %d: %v of 5 pods of the Deployment are Pending, %v of 5 of the StatefulSet", seed, web.Pending, db.Pending)
		}
	}
}

// The scheduler has placed pods of a lower priority before the later ones are created.
func TestGrace_laterPodsComeAfterThoseOfLowerPriority(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		options                []podOption
		webPending, setPending Range
	}{
		"they find no room":       {[]podOption{priority(9), patient}, Range{0, 1}, Range{0, 1}},
		"they preempt the others": {[]podOption{priority(9)}, exactly(1), exactly(0)},
	} {
		w, evicted := recreatedLater(5, 5, 1, 30, tt.options...)
		out := w.outcome(evicted, 1)
		if web, db := out.of(t, "web"), out.of(t, "db"); web.Pending != tt.webPending || db.Pending != tt.setPending {
			t.Errorf("%s: %v pods of the Deployment are Pending, %v of the StatefulSet", name, web.Pending, db.Pending)
		}
	}
}

func TestGrace_momentsOfLaterPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		after, wait int64
		pending     Range
	}{
		"pods that are evicted after the grace period":  {60, 30, exactly(0)},
		"pods that are evicted during the grace period": {60, 600, Range{0, 1}},
		"a wait of a second before that":                {60, 1, exactly(0)},
	} {
		w, evicted := recreatedLater(5, 5, 1, tt.wait)
		for i := range evicted {
			if evicted[i].Wait == 0 {
				evicted[i].After = tt.after
			}
		}
		if got := w.outcome(evicted, 1).of(t, "db").Pending; got != tt.pending {
			t.Errorf("%s: %v pods of the StatefulSet are Pending, want %v", name, got, tt.pending)
		}
	}
}

// A pod of a StatefulSet that has a higher priority is placed first where its old one is deleted immediately and both are created
// in the same moment, and in some orders not where that takes a second.
func TestGrace_aSecondIsEnoughForOthersToComeFirst(t *testing.T) {
	t.Parallel()
	for wait, want := range map[int64]Range{0: exactly(0), 1: {0, 1}} {
		w, evicted := recreatedLater(5, 5, 1, wait, priority(9), patient)
		if got := inOneWave(New(w.Snapshot, gone("n1"), false), evicted).try(Orders, 1).of(t, "db").Pending; got != want {
			t.Errorf("%d s: %v pods of the StatefulSet are Pending, want %v", wait, got, want)
		}
	}
}

func TestEviction_wait(t *testing.T) {
	t.Parallel()
	terminates, runs := pod("p", "n1", terminating), pod("p", "n1")
	for name, tt := range map[string]struct {
		Eviction
		want int64
	}{
		"none":                               {Eviction{Pod: runs}, 0},
		"a second":                           {Eviction{Pod: runs, Wait: 1}, 1},
		"two seconds":                        {Eviction{Pod: runs, Wait: 2}, 30},
		"the default":                        {Eviction{Pod: runs, Wait: 30}, 30},
		"more":                               {Eviction{Pod: runs, Wait: 31}, 60},
		"an hour":                            {Eviction{Pod: runs, Wait: 3600}, 3840},
		"longer than anything":               {Eviction{Pod: runs, Wait: math.MaxInt64}, longestWait},
		"one that is terminating":            {Eviction{Pod: terminates, Wait: 30}, 0},
		"less than none, which no API takes": {Eviction{Pod: runs, Wait: -1}, 0},
	} {
		if got := tt.wait(); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// An ordered StatefulSet waits for the terminating pod before the one that is gone.
func TestGrace_orderedSetsWaitForTerminatingPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first   int64
		pending Range
	}{
		"the pod before it is evicted meanwhile, and terminating": {20, Range{0, 1}},
		"the pod before it runs":                                  {90, exactly(0)},
	} {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 2, 99), labelled(having(node("n3"), 9, 99), "only", "first"))
		w.run(pod("db-0", "n1", asking(1, 1), ownedBy("StatefulSet", "db"), selecting("only", "first")), pod("db-1", "n1", asking(2, 1), ownedBy("StatefulSet", "db")), other("web", "n1", asking(2, 1)))
		w.Nodes["n3"].Taints = taintsOf("first:NoSchedule")
		w.named(t, "db-0").Scheduling.Tolerations = append(w.named(t, "db-0").Scheduling.Tolerations, exists("first", ""))
		evicted := w.evictAll("n1")
		evicted[0].After, evicted[0].Ordered, evicted[0].Wait = tt.first, true, 30
		evicted[1].Ordered, evicted[1].Wait = true, 30
		evicted[2].After = 40
		if got := w.outcome(evicted, 1).of(t, "db").Pending; got != tt.pending {
			t.Errorf("%s: %v pods of the StatefulSet are Pending, want %v", name, got, tt.pending)
		}
	}
}

// So is a victim of preemption, and a pod that may be evicted.
func TestGrace_victimsAreReplacedLater(t *testing.T) {
	t.Parallel()
	cluster := func(unsure bool) (world, Scenario, []Eviction) {
		w := newWorld(having(node("n1"), 99, 99), having(node("n2"), 2, 99), labelled(having(node("n3"), 2, 99), "pool", "spare"))
		w.Nodes["n3"].Taints = taintsOf("spare:NoSchedule")
		w.run(pod("urgent", "n1", asking(2, 1), priority(9), ownedBy("ReplicaSet", "urgent")), other("web", "n1", asking(2, 1), priority(1), tolerating(exists("spare", "")), selecting("pool", "spare")))
		w.run(pod("db-0", "n2", asking(2, 1), priority(1), ownedBy("StatefulSet", "db"), tolerating(exists("spare", ""))))
		change := gone("n1")
		change.Replaced = func(p *snapshot.Pod) Eviction { return Eviction{Pod: p, Scheduling: p.Scheduling, Wait: 30} }
		evicted := w.evictAll("n1")
		evicted[1].After = 20
		if unsure {
			evicted = append(evicted, Eviction{Pod: w.named(t, "db-0"), Scheduling: w.named(t, "db-0").Scheduling, Wait: 30, Unsure: true})
		}
		return w, change, evicted
	}
	for name, unsure := range map[string]bool{"of preemption": false, "of preemption that may be evicted as well": true} {
		w, change, evicted := cluster(unsure)
		out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
		s := newSimulation(New(w.Snapshot, change, false), evicted)
		s.run(1, 1) // The pod that may be evicted is not in this order, and is preempted.
		for _, r := range s.replacements {
			if r.pod.Name == "db-0" && (r.since != 30 || r.node >= 0) {
				t.Errorf("%s: the pod of the StatefulSet is created at %d", name, r.since)
			}
		}
		if web, db := out.of(t, "other"), out.of(t, "db"); web.Pending != (Range{0, 1}) || db.Pending != (Range{0, 1}) {
			t.Errorf("%s: %v pods of the Deployment are Pending, %v of the StatefulSet", name, web.Pending, db.Pending)
		}
	}
}

// TestGrace_eachWorkloadEndsAtItsOwnPace: of two workloads, either may take its grace period while the other does not.
func TestGrace_eachWorkloadEndsAtItsOwnPace(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9))
	w = w.run(replicas("db", "n1", 1, asking(1, 1))...).run(replicas("cache", "n1", 1, asking(1, 1))...)
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Wait = 30
	}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
	seen := map[[2]bool]int{}
	for order := range Orders {
		s.chance = newChance(1, order)
		s.delay(order)
		var late [2]bool
		for i, r := range s.replacements {
			late[i] = r.after > r.evicted
		}
		seen[late]++
	}
	if len(seen) != 4 {
		t.Errorf("which of two workloads take their grace periods: %v", seen)
	}
}

// TestJoin_keepsWhatWasNotRead: one outcome that could not read it is enough.
func TestJoin_keepsWhatWasNotRead(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]*Outcome{
		"quotas": {UnknownQuotas: true}, "PriorityClasses": {UnknownClasses: true}, "LimitRanges": {UnknownRanges: true}, "limits of volumes": {UnknownVolumeLimits: true}, "Jobs": {UnreadJobs: true},
	} {
		out := Join(&Outcome{}, one)
		if out.UnknownQuotas != one.UnknownQuotas || out.UnknownClasses != one.UnknownClasses || out.UnknownRanges != one.UnknownRanges || out.UnknownVolumeLimits != one.UnknownVolumeLimits || out.UnreadJobs != one.UnreadJobs {
			t.Errorf("%s are lost: %+v", name, out)
		}
	}
}
