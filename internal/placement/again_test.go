// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// The scheduler does not look at tolerationSeconds: it lets a replacement back to the node that has just evicted
// the pod, and that evicts it again.
func TestSimulate_countsReplacementsThatTheirNodeEvictsAgain(t *testing.T) {
	t.Parallel()
	leaving := lasting("leaving", 4)
	for name, tt := range map[string]struct {
		n2      *snapshot.Node
		taints  []string
		options []podOption
		again   Range
		placed  Range
	}{
		"no other node takes it": {
			n2: cordoned(node("n2")), taints: []string{"leaving:NoExecute"}, options: []podOption{tolerating(leaving)}, again: exactly(2), placed: exactly(2),
		},
		// The emptied node has the better score, and orders in which scores do not count have it otherwise.
		"another node has room": {
			n2: having(node("n2"), 4, 4), taints: []string{"leaving:NoExecute"}, options: []podOption{tolerating(leaving), asking(1, 1)}, again: Range{0, 2}, placed: exactly(2),
		},
		"a NoSchedule taint keeps it away": {
			n2: node("n2"), taints: []string{"leaving:NoExecute", "leaving:NoSchedule"}, options: []podOption{tolerating(leaving)}, placed: exactly(2),
		},
		"a NoSchedule taint that it tolerates does not": {
			n2: cordoned(node("n2")), taints: []string{"leaving:NoExecute", "leaving:NoSchedule"}, again: exactly(2), placed: exactly(2),
			options: []podOption{tolerating(leaving, exists("leaving", corev1.TaintEffectNoSchedule))},
		},
		"it tolerates the taint forever": {
			n2: cordoned(node("n2")), taints: []string{"leaving:NoExecute"}, options: []podOption{tolerating(exists("leaving", corev1.TaintEffectNoExecute))}, placed: exactly(2),
		},
		"the first toleration that matches decides": {
			n2: cordoned(node("n2")), taints: []string{"leaving:NoExecute"}, placed: exactly(2),
			options: []podOption{tolerating(exists("leaving", corev1.TaintEffectNoExecute), leaving)},
		},
		"another node has such a taint": {
			n2: node("n2", "broken:NoExecute"), taints: []string{"gone:NoExecute"}, options: []podOption{tolerating(lasting("broken", 300))}, again: exactly(2), placed: exactly(2),
		},
	} {
		w := newWorld(having(node("n1"), 100, 100), tt.n2).run(replicas("web", "n1", 2, tt.options...)...)
		out := w.simulateTaints(tt.taints...)
		got := out.of(t, "web")
		if got.Again != tt.again || out.Again != tt.again || got.Placed != tt.placed {
			t.Errorf("%s: again %v of the workload, %v of all, placed %v", name, got.Again, out.Again, got.Placed)
		}
		if all := out.Of(w.named(t, "web-0")).AllAgain(); all != (tt.again.Min == 2) {
			t.Errorf("%s: all again: %v", name, all)
		}
	}
}

// A local volume leaves its pod no other node.
func TestSimulate_aLocalVolumeReturnsItsPodToTheTaintedNode(t *testing.T) {
	t.Parallel()
	db := pod("db-0", "n1", ownedBy("StatefulSet", "db"), tolerating(lasting("leaving", 4)), claiming("data"))
	w := newWorld(node("n1"), node("n2")).run(db).bindTo("data", "disk", onHost("n1"))
	if got := w.simulateTaints("leaving:NoExecute").of(t, "db"); got.Again != exactly(1) || got.Fate() != Fits {
		t.Errorf("again %v, %s", got.Again, got.Fate())
	}
}

func TestJoin_addsUpReplacementsThatAreEvictedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), cordoned(node("n2"))).run(replicas("web", "n1", 2, tolerating(lasting("leaving", 4)))...)
	one := w.simulateTaints("leaving:NoExecute")
	if joined := Join(one, one); joined.Again != exactly(4) || joined.of(t, "web").Again != exactly(4) {
		t.Errorf("again %v, of the workload %v", joined.Again, joined.of(t, "web").Again)
	}
}

// lasting tolerates NoExecute taints of a key for some seconds.
func lasting(key string, seconds int64) corev1.Toleration {
	t := exists(key, corev1.TaintEffectNoExecute)
	t.TolerationSeconds = &seconds
	return t
}

// simulateTaints taints node n1, which evicts all pods of it after 4s.
func (w world) simulateTaints(taints ...string) *Outcome {
	change := gone("n1")
	change.Taints = tainting("n1", taints...).Taints
	evicted := w.evictAll("n1")
	for i := range evicted {
		evicted[i].After = 4
	}
	return New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
}

// A pod that a drain evicts tolerates another taint for some seconds, or the cordon: what empties its new node differs.
func TestSimulate_tellsDrainedNodesFromThoseThatEvictAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tolerates corev1.Toleration
		drained   bool
	}{
		"the cordon":    {exists(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule), true},
		"another taint": {lasting("broken", 300), false},
	} {
		w := newWorld(node("n1"), node("n2", "broken:NoExecute")).run(replicas("web", "n1", 1, tolerating(tt.tolerates))...)
		out := New(w.Snapshot, Scenario{Drained: map[string]bool{"n1": true}}, false).Simulate(w.evictAll("n1"), Orders, 1)
		web, group := out.of(t, "web"), out.Of(w.named(t, "web-0"))
		if out.Again != exactly(1) || out.OnDrained != tt.drained || web.OnDrained != tt.drained || group.OnDrained != tt.drained || Join(out, out).OnDrained != tt.drained {
			t.Errorf("it tolerates %s: again %v, on a drained node %t, %t of the workload", name, out.Again, out.OnDrained, web.OnDrained)
		}
	}
}

// A template that names its node (spec.nodeName) has its pods there again, whatever room others have: the scheduler sees none of them.
func TestSimulate_aTemplateThatNamesItsNodeReturnsItsPods(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change Scenario
		again  Range
		is     Returns
	}{
		"a NoExecute taint":   {change: tainting("n1", "gone:NoExecute"), again: exactly(2), is: Returns{Named: true}},
		"a NoSchedule taint":  {change: tainting("n1", "gone:NoSchedule")},
		"a drain":             {change: Scenario{Drained: map[string]bool{"n1": true}}, again: exactly(2), is: Returns{Named: true, OnDrained: true}},
		"a cordon, beside it": {change: Scenario{Closed: map[string]bool{"n1": true}}},
	} {
		w := newWorld(having(node("n1"), 1, 1), having(node("n2"), 4, 4)).run(replicas("web", "n1", 2, asking(1, 1), namesNode, priority(10))...).
			run(replicas("low", "n2", 4, asking(1, 1))...)
		out := New(w.Snapshot, tt.change, false).Simulate(w.evictAll("n1"), Orders, 1)
		web, group := out.of(t, "web"), out.Of(w.named(t, "web-0"))
		if web.Again != tt.again || out.Again != tt.again || web.Placed != exactly(2) || out.Preempted != (Range{}) {
			t.Errorf("%s: again %v, placed %v, preempted %v", name, web.Again, web.Placed, out.Preempted)
		}
		if web.Returns != tt.is || group.Returns != tt.is || out.Returns != tt.is {
			t.Errorf("%s: %v, %v of the workload, %v of all", name, group.Returns, web.Returns, out.Returns)
		}
	}
}

// Pods whose node is gone are created, and the pod garbage collector deletes them (podgc/gc_controller.go, gcOrphaned).
func TestSimulate_aTemplateThatNamesADeletedNodeRunsNoPod(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1"), node("n2")).run(replicas("web", "n1", 2, namesNode)...)
	on := map[string]bool{"n1": true}
	out := New(w.Snapshot, Scenario{Drained: on, Closed: on, Deleted: on}, false).Simulate(w.evictAll("n1"), Orders, 1)
	if web := out.of(t, "web"); web.Pending != exactly(2) || web.Reason != "its template names node n1, which is deleted" {
		t.Errorf("pending %v: %s", web.Pending, web.Reason)
	}
}

func namesNode(p *snapshot.Pod) { p.NamesNode = true }
