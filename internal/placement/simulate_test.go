// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// evictAll evicts all pods of a node immediately.
func (w world) evictAll(node string) []Eviction {
	var out []Eviction
	for _, p := range w.Pods[node] {
		out = append(out, Eviction{Pod: p, Scheduling: p.Scheduling})
	}
	return out
}

// gone is the change that taints a node and evicts its pods.
func gone(node string) Scenario {
	change := tainting(node, "gone:NoExecute")
	change.Leaving = func(name string) func(*snapshot.Pod) bool {
		if name != node {
			return nil
		}
		return func(*snapshot.Pod) bool { return true }
	}
	return change
}

// simulate taints node n1, and evicts its pods.
func (w world) simulate() *Outcome {
	return New(w.Snapshot, gone("n1"), false).Simulate(w.evictAll("n1"), Orders, 1)
}

// of returns the outcome of a workload.
func (o *Outcome) of(t *testing.T, name string) WorkloadOutcome {
	t.Helper()
	for _, w := range o.Workloads {
		if w.Name == name {
			return w
		}
	}
	t.Fatalf("no outcome of %s in %+v", name, o.Workloads)
	return WorkloadOutcome{}
}

// TestOutcome_sumsUpItsWorkloads, in the order of their names.
func TestOutcome_sumsUpItsWorkloads(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 1, 1))
	for i := range 9 {
		w = w.run(pod(fmt.Sprintf("p%d-0", i), "n1", ownedBy("StatefulSet", fmt.Sprintf("p%d", i)), asking(1, 1)), pod(fmt.Sprintf("p%d-1", i), "n1", ownedBy("StatefulSet", fmt.Sprintf("p%d", i)), asking(1, 1)))
	}
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Ordered = true
	}
	slices.Reverse(evicted)
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, 1, 1)
	if out.Placed != exactly(1) || out.Pending != exactly(9) || out.NotCreated != exactly(8) || out.Missing != exactly(17) || out.Unplaced != exactly(17) || out.Refused != exactly(0) {
		t.Errorf("placed %v, Pending %v, not created %v, missing %v, unplaced %v, refused %v", out.Placed, out.Pending, out.NotCreated, out.Missing, out.Unplaced, out.Refused)
	}
	for i, one := range out.Workloads {
		if one.Name != fmt.Sprintf("p%d", i) {
			t.Errorf("workload %d is %s", i, one.Name)
		}
	}
}

// replicas are pods of a ReplicaSet on a node. They share what is equal, as in a snapshot.
func replicas(set, node string, n int, options ...podOption) []*snapshot.Pod {
	var out []*snapshot.Pod
	for i := range n {
		p := pod(fmt.Sprintf("%s-%d", set, i), node, append([]podOption{ownedBy("ReplicaSet", set)}, options...)...)
		if i > 0 {
			p.Scheduling, p.Demand, p.Rules, p.Labels = out[0].Scheduling, out[0].Demand, out[0].Rules, out[0].Labels
		}
		out = append(out, p)
	}
	return out
}

func exactly(n int) Range { return Range{n, n} }

func TestSimulate_tenPodsAndRoomForOne(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 1, 1)).run(replicas("web", "n1", 10, asking(1, 1))...)
	got := w.simulate().of(t, "web")
	want := WorkloadOutcome{
		WorkloadKey: got.WorkloadKey, Placed: exactly(1), Pending: exactly(9), Missing: exactly(9), Staying: exactly(9), Unplaced: exactly(9), AllMissing: exactly(9), Proved: 9,
		Reason: "1 is tainted gone:NoExecute, 1 lacks memory (needs 1Gi, none free)", Brief: "1 taint, 1 memory",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Fate() != Pending {
		t.Errorf("the fate is %s", got.Fate())
	}
}

func TestSimulate_placedPodsTakeTheirRoom(t *testing.T) {
	t.Parallel()
	gpu := func(n int64) snapshot.Amount { return snapshot.Amount{Name: "example.com/gpu", Value: n} }
	port := func(p *snapshot.Pod) {
		p.Rules = &snapshot.PodRules{Ports: []snapshot.HostPort{{IP: "0.0.0.0", Protocol: corev1.ProtocolTCP, Port: 80}}}
	}
	for name, tt := range map[string]struct {
		pod    podOption
		node   *snapshot.Node
		placed int
	}{
		"memory":            {pod: asking(1, 3), node: having(node("n2"), 9, 8), placed: 2},
		"CPU":               {pod: asking(3, 1), node: having(node("n2"), 8, 9), placed: 2},
		"extended resource": {pod: asking(1, 1, gpu(1)), node: having(node("n2"), 9, 9, gpu(3)), placed: 3},
		"number of pods":    {pod: asking(0, 0), node: having(node("n2"), 9, 9), placed: 10},
		"local storage":     {pod: func(p *snapshot.Pod) { asking(1, 1)(p); scratch(2)(p) }, node: disk(having(node("n2"), 9, 9), 6), placed: 3},
		"host port":         {pod: port, node: having(node("n2"), 9, 9), placed: 1},
	} {
		w := newWorld(having(node("n1"), 100, 100), tt.node).run(replicas("web", "n1", 12, tt.pod)...)
		got := w.simulate().of(t, "web")
		if got.Placed != exactly(tt.placed) || got.Pending != exactly(12-tt.placed) || got.Proved != 12-tt.placed {
			t.Errorf("%s: %+v placed, %+v pending, %d proved, want %d placed", name, got.Placed, got.Pending, got.Proved, tt.placed)
		}
	}
}

func TestSimulate_higherPriorityIsPlacedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("low", "n1", 2, asking(1, 1), priority(1))...).run(replicas("high", "n1", 2, asking(1, 1), priority(2))...)
	out := w.simulate()
	if got := out.of(t, "high"); got.Placed != exactly(2) || got.Fate() != Fits {
		t.Errorf("high: %+v", got)
	}
	if got := out.of(t, "low"); got.Pending != exactly(2) {
		t.Errorf("low: %+v", got)
	}
}

func TestSimulate_podsThatWaitCompete(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).run(replicas("web", "n1", 1, asking(2, 2))...)
	waits := other("waits", "", asking(2, 2), priority(5))
	if w.Waiting = []*snapshot.Pod{waits}; w.simulate().of(t, "web").Pending != exactly(1) {
		t.Error("a pod of higher priority that waits takes no room")
	}
	waits.Gated = true
	if w.simulate().of(t, "web").Placed != exactly(1) {
		t.Error("a pod behind a scheduling gate takes room")
	}
	waits.Controller, waits.Gated = w.named(t, "web-0").Controller, false
	if got := w.simulate().of(t, "web"); got.Pending != exactly(1) || got.AllMissing != exactly(1) {
		t.Errorf("beside one of its own that waits: %+v", got)
	}
	waits.Demand.Priority, waits.Controller = 0, nil
	if got := w.simulate().of(t, "web"); got.Pending != (Range{0, 1}) || got.Fate() != DependsOnOrder {
		t.Errorf("beside one of the same priority that waits: %+v", got)
	}
}

func TestSimulate_countsWhatOrdersDifferInAsARange(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("large", "n1", 1, asking(2, 2))...).run(replicas("small", "n1", 2, asking(1, 1))...)
	out := w.simulate()
	if out.Orders != Orders {
		t.Errorf("%d orders", out.Orders)
	}
	if got := out.of(t, "large"); got.Pending != (Range{0, 1}) || got.Proved != 0 || got.Fate() != DependsOnOrder {
		t.Errorf("large: %+v", got)
	}
	if got := out.of(t, "small"); got.Pending != (Range{0, 2}) || got.Fate() != DependsOnOrder {
		t.Errorf("small: %+v", got)
	}
	if out.Pending != (Range{1, 2}) {
		t.Errorf("together %+v", out.Pending)
	}
}

func TestSimulate_roomOfPodsWhoseSecondsRunIsNotFree(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("web", "n1", 1, asking(2, 2))...).run(replicas("slow", "n2", 1, asking(2, 2))...)
	slow := w.named(t, "slow-0")
	evicted := append(w.evictAll("n1"), Eviction{Pod: slow, After: 300})
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "web"); got.Placed != exactly(1) || got.Delayed != exactly(1) {
		t.Errorf("behind a pod with 300 s: %+v", got)
	}
	evicted[1].After = 0
	out = New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "web"); got.Placed != exactly(1) || got.Delayed != exactly(0) {
		t.Errorf("behind a pod that is evicted immediately: %+v", got)
	}
	slow.Terminating = true
	if got := w.simulate().of(t, "web"); got.Placed != exactly(1) || got.Delayed != exactly(1) {
		t.Errorf("behind a terminating pod: %+v", got)
	}
	slow.Terminating, slow.Completed = false, true
	if got := w.simulate().of(t, "web"); got.Placed != exactly(1) || got.Delayed != exactly(0) {
		t.Errorf("behind a completed pod: %+v", got)
	}
}

func TestSimulate_podsEvictedLaterComeLater(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("now", "n1", 1, asking(2, 2))...).run(replicas("later", "n1", 1, asking(2, 2), priority(0))...)
	evicted := w.evictAll("n1")
	evicted[1].After = 30
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if now, later := out.of(t, "now"), out.of(t, "later"); now.Placed != exactly(1) || later.Pending != exactly(1) {
		t.Errorf("now %+v, later %+v", now, later)
	}
}

// A pod that has waited since an earlier moment is tried before one that is created now.
func TestSimulate_provesNothingOfRoomThatPreemptionMakes(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 4, 4)).
		run(replicas("web", "n1", 1, asking(1, 1), priority(1))...).run(replicas("high", "n1", 1, asking(2, 2), priority(9))...).
		run(replicas("peer", "n2", 1, asking(4, 4), priority(1), patient)...)
	if got := w.simulate().of(t, "web"); got.Placed != exactly(1) || got.Proved != 0 {
		t.Errorf("beside a pod of a higher priority: %+v", got)
	}
}

func TestSimulate_podsThatHaveWaitedAreTriedFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("first", "n1", 1, asking(2, 2))...).run(replicas("second", "n2", 1, asking(2, 2))...)
	second := w.named(t, "second-0")
	evicted := append(w.evictAll("n1"), Eviction{Pod: second, After: 30, Scheduling: second.Scheduling})
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if first, second := out.of(t, "first"), out.of(t, "second"); first.Placed != exactly(1) || second.Pending != exactly(1) {
		t.Errorf("first %+v, second %+v", first.Placed, second.Pending)
	}
}

func TestSimulate_doesNotCreateWhatTheNamespaceForbids(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(replicas("web", "n1", 2, asking(1, 1))...)
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].Scheduling = &snapshot.Scheduling{Forbidden: []corev1.Toleration{exists("a", "")}}
	}
	got := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1).of(t, "web")
	if got.NotCreated != exactly(2) || got.Pending != exactly(0) || got.Fate() != Pending {
		t.Errorf("got %+v", got)
	}
}

func TestSimulate_freesTheRoomOfPodsThatNothingReplaces(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 2, 2)).
		run(replicas("web", "n1", 1, asking(2, 2))...).run(other("bare", "n2", asking(2, 2)))
	evicted := append(w.evictAll("n1"), Eviction{Pod: w.named(t, "bare")})
	out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
	if got := out.of(t, "web"); got.Placed != exactly(1) || len(out.Workloads) != 1 {
		t.Errorf("got %+v", out.Workloads)
	}
}

func TestSimulate_namesTheNodesThatComeForPendingPods(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 100, 100), having(node("n2"), 1, 1)).run(replicas("web", "n1", 1, asking(4, 4))...)
	change := gone("n1")
	change.Comes = []Coming{{Node: having(node("new"), 8, 8), Like: "n1", Of: "MachineSet a"}, {Node: having(node("small"), 1, 1), Like: "n1", Of: "MachineSet b"}}
	got := New(w.Snapshot, change, false).Simulate(w.evictAll("n1"), Orders, 1).of(t, "web")
	if diff := cmp.Diff([]string{"MachineSet a"}, got.Awaits); diff != "" || got.Pending != exactly(1) {
		t.Errorf("%+v: %s", got, diff)
	}
}

// Three replicas spread over three hosts leave one Pending when a host is tainted: it is still a
// domain. Unless its taints count.
func TestSimulate_spreadOverHostsOfWhichOneIsTainted(t *testing.T) {
	t.Parallel()
	for honor, want := range map[bool]Fate{false: Pending, true: Fits} {
		rules := &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
			MaxSkew: 1, MinDomains: 1, TopologyKey: corev1.LabelHostname, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), HonorTaints: honor,
		}}}
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9), having(node("n3"), 9, 9))
		for i := range 3 {
			w = w.run(pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("n%d", i+1), ruled(rules)))
		}
		got := w.simulate().of(t, "web-5d")
		if got.Fate() != want {
			t.Errorf("honoring taints %t: %+v", honor, got)
		}
	}
}

// A cordon is a taint as well, which is put on a node that is drained.
func TestSimulate_spreadOverHostsOfWhichOneIsCordoned(t *testing.T) {
	t.Parallel()
	cordon := tolerating(exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule))
	on := map[string]bool{"n1": true}
	tainted := gone("n1").Taints
	for name, tt := range map[string]struct {
		change Scenario
		// cordoned is set where n1 is before the change.
		cordoned, ignore bool
		pods             podOption
		want             Fate
	}{
		"it is deleted before one comes in its place, and taints do not count": {change: Scenario{Closed: on, Deleted: on, Comes: []Coming{{Node: having(node("new", "gone:NoSchedule"), 9, 9)}}}, ignore: true, want: DependsOnOrder},
		"it is deleted after one has come, and taints do not count":            {change: Scenario{Closed: on, Deleted: on, Comes: []Coming{{Node: having(node("new", "gone:NoSchedule"), 9, 9), Surges: true}}}, ignore: true, want: Pending},
		"it is drained":                                              {change: Scenario{Drained: on}, want: Fits},
		"it is drained, and taints do not count":                     {change: Scenario{Drained: on}, ignore: true, want: Pending},
		"it is deleted":                                              {change: Scenario{Closed: on}, want: Fits},
		"it is deleted, and taints do not count":                     {change: Scenario{Closed: on, Deleted: on}, ignore: true, want: Fits},
		"it is drained and deleted, and taints do not count":         {change: Scenario{Drained: on, Closed: on, Deleted: on}, ignore: true, want: Fits},
		"it is deleted by another resource, and taints do not count": {change: Scenario{Closed: on}, ignore: true, want: Pending},
		"it is cordoned":                                             {cordoned: true, want: Fits},
		"it is cordoned, and taints do not count":                    {cordoned: true, ignore: true, want: Pending},
		"it is cordoned, which the pods tolerate":                    {cordoned: true, pods: cordon, want: Fits},
		"it is deleted, though the pods tolerate the cordon":         {change: Scenario{Closed: on}, pods: cordon, want: Fits},
		"it is tainted, though the pods tolerate the cordon":         {change: Scenario{Taints: tainted, Drained: on}, pods: cordon, want: Fits},
		"it is tainted and cordoned, and taints do not count":        {change: Scenario{Taints: tainted}, cordoned: true, ignore: true, want: Pending},
	} {
		rules := &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
			MaxSkew: 1, MinDomains: 1, TopologyKey: corev1.LabelHostname, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), HonorTaints: !tt.ignore,
		}}}
		w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9), having(node("n3"), 9, 9))
		w.Nodes["n1"].Unschedulable = tt.cordoned
		if tt.pods == nil {
			tt.pods = tolerating()
		}
		for i := range 3 {
			w = w.run(pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("n%d", i+1), ruled(rules), tt.pods))
		}
		if got := New(w.Snapshot, tt.change, false).Simulate(w.evictAll("n1"), Orders, 1).of(t, "web-5d"); got.Fate() != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestSimulate_antiAffinityAndOneHostLeft(t *testing.T) {
	t.Parallel()
	rules := &snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: corev1.LabelHostname, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}}
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).run(pod("web-0", "n1", ruled(rules)), pod("web-1", "n2", ruled(rules)))
	if got := w.simulate().of(t, "web-5d"); got.Pending != exactly(1) || got.Reason != "1 is tainted gone:NoExecute, 1 does not match its pod anti-affinity" {
		t.Errorf("got %+v", got)
	}
	w.Nodes["n3"] = having(node("n3"), 9, 9)
	if got := w.simulate().of(t, "web-5d"); got.Placed != exactly(1) {
		t.Errorf("with a third host: %+v", got)
	}
}

// Scores that are not repeated can put a pod where it is in the way of a larger one.
func TestSimulate_triesNodesOfALowerScoreInSomeOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 4, 4), having(node("n3"), 5, 5)).
		run(replicas("small", "n1", 1, asking(1, 1), priority(5))...).run(replicas("large", "n1", 1, asking(4, 4))...).
		run(replicas("other", "n2", 1, asking(0, 0))...)
	d := w.named(t, "small-0").Demand
	d.ScoredMilliCPU, d.ScoredMemory, d.Patient = d.Asks.MilliCPU, d.Asks.Memory, true // So that n3 scores higher.
	w = w.run(replicas("huge", "n1", 1, asking(4, 4), priority(1))...)
	if got := w.simulate().of(t, "large"); got.Pending != (Range{0, 1}) {
		t.Errorf("got %+v", got.Pending)
	}
}

// Until the evicted pods have terminated, a replacement follows them into their zone.
func TestSimulate_replacementsMayFollowPodsThatAreTerminating(t *testing.T) {
	t.Parallel()
	rules := &snapshot.PodRules{Affinity: []snapshot.PodTerm{{TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}}
	w := newWorld(labelled(having(node("n1"), 9, 9), "zone", "a"), labelled(having(node("n2"), 1, 1), "zone", "a"), labelled(having(node("n3"), 4, 4), "zone", "b")).
		run(replicas("web", "n1", 3, asking(1, 1), labelledAs("app", "web"), ruled(rules))...)
	d := w.named(t, "web-0").Demand
	d.ScoredMilliCPU, d.ScoredMemory = d.Asks.MilliCPU, d.Asks.Memory // So that n3 scores higher.
	if got := w.simulate().of(t, "web"); got.Pending != (Range{0, 2}) {
		t.Errorf("got %+v", got)
	}
}

func TestSimulate_replacementsOfAGroupFollowTheFirst(t *testing.T) {
	t.Parallel()
	rules := &snapshot.PodRules{Affinity: []snapshot.PodTerm{{TopologyKey: "zone", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}}
	zone := func(name, zone string) *snapshot.Node { return labelled(having(node(name), 2, 2), "zone", zone) }
	w := newWorld(labelled(having(node("n1"), 9, 9), "zone", "a"), zone("n2", "b"), zone("n3", "b"), zone("n4", "c"), zone("n5", "c")).
		run(replicas("web", "n1", 6, asking(1, 1), labelledAs("app", "web"), ruled(rules))...)
	if got := w.simulate().of(t, "web"); got.Placed != exactly(4) || got.Pending != exactly(2) {
		t.Errorf("got %+v", got)
	}
}
