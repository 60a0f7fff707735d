// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestStages_takeThePodsThatFindNoNode: pods of a node that is deleted need nodes that come, or more than these have.
func TestStages_takeThePodsThatFindNoNode(t *testing.T) {
	t.Parallel()
	four := func(taints ...string) *snapshot.Node { return having(node("", taints...), 4, 16) }
	tolerant := tolerating(corev1.Toleration{Key: "team", Value: "a"})
	apart := ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: corev1.LabelHostname, Selector: labels.Everything(), OwnNamespace: true}}})
	web := func(n int, options ...podOption) []*snapshot.Pod {
		return replicas("web", "n1", n, append(options, tolerant)...)
	}
	agent := pod("agent", "n1", ownedBy("DaemonSet", "agent"), asking(2, 0))
	for name, tt := range map[string]struct {
		comes   []*snapshot.Node
		counts  []int
		world   world
		want    Range
		staying Range
	}{
		"two of four cores, and pods of two":     {[]*snapshot.Node{four("team=a:NoExecute")}, []int{2}, cluster().run(web(4, asking(2, 1))...), exactly(4), exactly(0)},
		"two of four cores, and pods of three":   {[]*snapshot.Node{four("team=a:NoExecute")}, []int{2}, cluster().run(web(4, asking(3, 1))...), exactly(2), exactly(2)},
		"one, and a pod of each DaemonSet":       {[]*snapshot.Node{four("team=a:NoExecute")}, []int{1}, cluster().run(web(4, asking(1, 1))...).run(agent), exactly(2), exactly(2)},
		"what they have is not known":            {[]*snapshot.Node{node("", "team=a:NoExecute")}, []int{1}, cluster().run(web(4, asking(3, 1))...), exactly(4), exactly(0)},
		"none takes them":                        {[]*snapshot.Node{four("team=b:NoExecute")}, []int{2}, cluster().run(web(4, asking(1, 1))...), exactly(0), exactly(4)},
		"one of two kinds takes them":            {[]*snapshot.Node{four("team=b:NoExecute"), four("team=a:NoExecute")}, []int{2, 1}, cluster().run(web(4, asking(2, 1))...), exactly(2), exactly(2)},
		"another workload needs the same room":   {[]*snapshot.Node{four("team=a:NoExecute")}, []int{1}, cluster().run(web(1, asking(4, 1))...).run(replicas("first", "n1", 1, asking(4, 1), priority(9), tolerant)...), exactly(0), exactly(1)},
		"a port that one pod of a node can have": {[]*snapshot.Node{four("team=a:NoExecute")}, []int{3}, cluster().run(web(4, asking(1, 1), ruled(&snapshot.PodRules{Ports: []snapshot.HostPort{{Protocol: corev1.ProtocolTCP, Port: 80}}}))...), exactly(3), exactly(1)},
		"pods that keep apart":                   {[]*snapshot.Node{four("team=a:NoExecute")}, []int{2}, cluster().run(web(4, asking(2, 1), apart)...), exactly(2), exactly(2)},
		"its own kind may be gone by then":       {[]*snapshot.Node{four("team=a:NoExecute"), labelled(four("team=a:NoExecute"), "disk", "ssd")}, []int{1, 1}, cluster().run(replicas("first", "n1", 1, asking(4, 1), priority(9), tolerant)...).run(web(1, asking(4, 1), selecting("disk", "ssd"))...), Range{0, 1}, Range{0, 1}},
		"volumes are not there yet":              {[]*snapshot.Node{four("team=a:NoExecute")}, []int{1}, cluster().stored().claim("data", "dynamic").run(web(2, asking(1, 1), claiming("data"))...), exactly(2), exactly(0)},
		"filled in turn, or level":               {[]*snapshot.Node{four("team=a:NoExecute")}, []int{2}, cluster().run(replicas("small", "n1", 2, asking(2, 1), priority(9), tolerant)...).run(web(1, asking(4, 1))...), Range{0, 1}, Range{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := gone("n1")
			for i, n := range tt.comes {
				change.Comes = append(change.Comes, Coming{Node: n, Like: "n1", Of: fmt.Sprintf("MachineSet %d", i), Count: tt.counts[i]})
			}
			var evicted []Eviction
			for _, e := range tt.world.evictAll("n1") {
				if e.Pod != agent {
					evicted = append(evicted, e)
				}
			}
			out := New(tt.world.Snapshot, change, false).Simulate(evicted, Orders, 1)
			got := out.of(t, "web")
			if got.Arriving != tt.want || out.Staying != tt.staying {
				t.Errorf("%v of %v on nodes that come, want %v; %v stay Pending, want %v", got.Arriving, got.Missing, tt.want, out.Staying, tt.staying)
			}
		})
	}
}

// cluster has one node with much room, which is deleted.
func cluster() world { return newWorld(having(node("n1"), 64, 64)) }

// In some orders it is not known whether a pod is created anew: where it is, a node that comes takes it.
func TestStages_takePodsThatMayNotBeCreated(t *testing.T) {
	t.Parallel()
	w := cluster().run(pod("web-0", "n1", ownedBy("ReplicaSet", "web"), asking(2, 1)))
	evicted := w.evictAll("n1")
	evicted[0].Doubtful = true
	change := gone("n1")
	change.Comes = []Coming{{Node: having(node(""), 4, 16), Like: "n1", Of: "MachineSet web", Count: 1}}
	if out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1); out.Arriving != exactly(1) || out.Staying != exactly(0) {
		t.Errorf("%v on the node that comes, %v stay Pending", out.Arriving, out.Staying)
	}
}

// Pods that other changes of the run evict compete for nodes that come.
func TestStages_takePodsOfOtherChanges(t *testing.T) {
	t.Parallel()
	w := cluster().run(pod("web-0", "n1", ownedBy("ReplicaSet", "web"), asking(2, 1)), pod("other-0", "n1", ownedBy("ReplicaSet", "other"), asking(4, 1), priority(9)))
	evicted := w.evictAll("n1")
	evicted[1].Elsewhere = true
	change := gone("n1")
	change.Comes = []Coming{{Node: having(node(""), 4, 16), Like: "n1", Of: "MachineSet web", Count: 1}}
	out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
	if out.Staying != exactly(1) || out.Others.Missing != exactly(0) || out.Others.All != exactly(1) {
		t.Errorf("%v stay Pending, of others %v, of all %v", out.Staying, out.Others.Missing, out.Others.All)
	}
	evicted[1].Awaited = true
	out = New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
	if out.Staying != exactly(0) || out.Others.Missing != exactly(0) || out.Others.All != exactly(0) {
		t.Errorf("one that the other change brings a node for: %v stay Pending, of others %v, of all %v", out.Staying, out.Others.Missing, out.Others.All)
	}
}

// An ordered StatefulSet creates its pods one after the other, as nodes take them.
func TestStages_takeOrderedPodsInTurn(t *testing.T) {
	t.Parallel()
	for machines, want := range map[int]int{1: 2, 2: 3} {
		w := cluster()
		for i := range 3 {
			w.run(pod(fmt.Sprintf("db-%d", i), "n1", ownedBy("StatefulSet", "db"), asking(2, 1)))
		}
		change := gone("n1")
		change.Comes = []Coming{{Node: having(node(""), 4, 16), Like: "n1", Of: "MachineSet db", Count: machines}}
		evicted := w.evictAll("n1")
		for i := range evicted {
			evicted[i].Ordered = true
		}
		out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
		if got := out.of(t, "db"); got.Arriving != exactly(want) || got.Missing != exactly(3) || out.Staying != exactly(3-want) {
			t.Errorf("%d machines take %v, want %d; %v stay Pending", machines, got.Arriving, want, out.Staying)
		}
		for i, e := range evicted {
			if got := out.Of(e.Pod).Arriving; (got == exactly(1)) != (i < want) {
				t.Errorf("%d machines: %s %v", machines, e.Pod.Name, got)
			}
		}
	}
}
