// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestObstacles_nameWhatKeepsAPodAway(t *testing.T) {
	t.Parallel()
	inPool := func(n *snapshot.Node) *snapshot.Node { return labelled(n, "pool", "a") }
	pool := selecting("pool", "a")
	grown := func(nodes ...[]*snapshot.Node) world {
		w := newWorld(inPool(having(node("n1"), 100, 100)))
		for _, list := range nodes {
			for _, n := range list {
				w.Nodes[n.Name] = n
			}
		}
		return w
	}
	tainted := func(name string) *snapshot.Node { return inPool(having(node(name, "dedicated=gpu:NoExecute"), 4, 8)) }
	small := func(name string) *snapshot.Node { return inPool(having(node(name), 2, 4)) }
	outside := func(name string) *snapshot.Node { return having(node(name), 100, 100) }
	for _, tt := range []struct {
		name   string
		world  world
		change Scenario
		want   string
	}{
		{name: "nothing but that there is no other node", world: grown().run(pod("p", "n1")), want: ": the cluster has no other node"},
		{
			name:  "the most frequent first, and volumes last",
			world: grown(many(3, "t", tainted), many(2, "o", outside), many(1, "s", small)).run(pod("p", "n1", pool, asking(1, 8))),
			want:  ": 3 are tainted dedicated=gpu:NoExecute, 2 do not match its node selector, 1 lacks memory (needs 8Gi, 4Gi free)",
		},
		{
			name:  "the most that is free on several nodes",
			world: grown(many(3, "s", small)).run(pod("p", "n1", asking(1, 8)), other("q", "s-0", asking(1, 1))),
			want:  ": 3 lack memory (needs 8Gi, at most 4Gi free)",
		},
		{
			name:  "what is free once others have left",
			world: grown(many(1, "s", small)).run(pod("p", "n1", asking(1, 4)), other("q", "s-0", asking(1, 1)), other("r", "s-0", asking(1, 2), terminating)),
			want:  ": 1 lacks memory (needs 4Gi, 3Gi free)",
		},
		{
			name:  "a resource that no node has",
			world: grown(many(2, "s", small)).run(pod("p", "n1", asking(1, 1, snapshot.Amount{Name: "example.com/gpu", Value: 1}))),
			want:  ": 2 lack example.com/gpu (needs 1, none free)",
		},
		{
			name:  "processors in thousandths, where they are no whole ones",
			world: grown(many(1, "s", small)).run(pod("p", "n1", asking(2, 1)), other("q", "s-0", func(p *snapshot.Pod) { p.Demand = &snapshot.Demand{Holds: snapshot.Resources{MilliCPU: 500}} })),
			want:  ": 1 lacks cpu (needs 2, 1500m free)",
		},
		{name: "nodes that are full of pods", world: grown(many(1, "s", small)).run(pod("p", "n1")).run(tenPods("s-0")...), want: ": 1 takes no more pods"},
		{name: "a cordon, and not the taint that comes with it", world: grown([]*snapshot.Node{cordoned(node("c", "node.kubernetes.io/unschedulable:NoSchedule"))}).run(pod("p", "n1")), want: ": 1 is cordoned"},
		{name: "required affinity", world: grown(many(2, "o", outside)).run(pod("p", "n1", requiring(expression("pool", "Exists")))), want: ": 2 do not match its node affinity"},
		{
			name: "nodes that are drained by the same change, apart from its own", change: Scenario{Drained: map[string]bool{"n1": true, "o-0": true}},
			world: grown(many(1, "o", outside)).run(pod("p", "n1")), want: ": 1 is drained",
		},
		{
			name:  "other nodes with the same obstacle as its own",
			world: grown(many(1, "x", func(name string) *snapshot.Node { return node(name, "a:NoExecute") })).run(pod("p", "n1")),
			want:  ": 1 is tainted a:NoExecute",
		},
		{
			name: "at most four kinds, and how many nodes there are beside",
			world: grown([]*snapshot.Node{node("a1", "a:NoSchedule"), node("b1", "b:NoSchedule"), node("c1", "c:NoSchedule"), node("d1", "d:NoSchedule"), node("e1", "e:NoSchedule"), cordoned(node("f1"))}).
				run(pod("p", "n1")),
			want: ": 1 is tainted a:NoSchedule, 1 is tainted b:NoSchedule, 1 is tainted c:NoSchedule, 1 is tainted d:NoSchedule, 2 for other reasons",
		},
		{
			name:  "the node that a volume is bound to, where it is the only one it could go to",
			world: grown(many(2, "o", outside)).bindTo("data", "pv-7", onHost("n1")).run(pod("p", "n1", claiming("data"))),
			want:  ": its volume pv-7 is bound to node n1",
		},
		{
			name:  "the label of the nodes that a volume is bound to, and what keeps it away from those",
			world: grown(many(2, "t", tainted), many(3, "o", outside)).bindTo("data", "pv-7", expression("pool", "In", "a")).run(pod("p", "n1", claiming("data"))),
			want:  ": 2 are tainted dedicated=gpu:NoExecute, its volume pv-7 is bound to nodes with pool=a",
		},
		{
			name:  "how many nodes a volume is bound to, where there is no short word for them",
			world: grown(many(2, "t", tainted), many(3, "o", outside)).bindTo("data", "pv-7", expression("pool", "Exists")).run(pod("p", "n1", claiming("data"))),
			want:  ": 2 are tainted dedicated=gpu:NoExecute, its volume pv-7 is bound to 3 nodes",
		},
		{
			name:  "a volume that keeps it away from its own node alone",
			world: grown(many(2, "o", tainted)).bindTo("data", "pv-7", onHost("o-0"), onHost("o-1")).run(pod("p", "n1", claiming("data"))),
			want:  ": 2 are tainted dedicated=gpu:NoExecute",
		},
		{
			name:  "volumes that are bound to different nodes",
			world: grown(many(2, "o", outside)).bindTo("data", "pv-7", onHost("o-0")).bindTo("logs", "pv-8", onHost("o-1")).run(pod("p", "n1", claiming("data", "logs"))),
			want:  ": its volume pv-7 is bound to node o-0, its volume pv-8 is bound to node o-1",
		},
		{
			name:  "a volume whose node is gone",
			world: grown(many(1, "o", outside)).bindTo("data", "pv-7", onHost("gone")).run(pod("p", "n1", claiming("data"))),
			want:  ": its volume pv-7 is bound to no node of this cluster",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.change
			if c.Drained == nil {
				c = tainting("n1", "a:NoExecute")
			}
			p := tt.world.named(t, "p")
			f := New(tt.world.Snapshot, c, false)
			if f.Fits(p, p.Scheduling) {
				t.Fatal("the pod fits")
			}
			if got := f.Obstacles(p, p.Scheduling); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestFits_whereVolumesAre(t *testing.T) {
	t.Parallel()
	// The affinity of every volume is one value, as in a snapshot.
	two := func(p *snapshot.Pod) world {
		return newWorld(node("n1"), node("n2")).run(p).bindTo("here", "pv-1", onHost("n1")).bindTo("there", "pv-2", onHost("n2")).
			bindTo("named", "pv-3", corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n9"}}}}).
			bindTo("broken", "pv-4", expression("x", "Nonsense"))
	}
	for _, tt := range []struct {
		name string
		pod  *snapshot.Pod
		back bool
	}{
		{name: "a pod without claims goes anywhere", pod: pod("p", "n1"), back: true},
		{name: "a volume on its own node keeps it there", pod: pod("p", "n1", claiming("here"))},
		{name: "a volume on another node lets it go there", pod: pod("p", "n1", claiming("there")), back: true},
		{name: "volumes on two nodes leave none", pod: pod("p", "n1", claiming("there", "here"))},
		{name: "a claim that is not bound to certain nodes binds no pod", pod: pod("p", "n1", claiming("unbound")), back: true},
		{name: "a claim of another namespace is another one", pod: pod("p", "n1", claiming("here"), func(p *snapshot.Pod) { p.Namespace = "elsewhere" }), back: true},
		{name: "names of nodes are not looked at, as in the scheduler", pod: pod("p", "n1", claiming("named")), back: true},
		{name: "an affinity that does not parse matches nothing", pod: pod("p", "n1", claiming("broken"))},
		{name: "a node selector counts beside a volume", pod: pod("p", "n1", claiming("there"), selecting("kubernetes.io/hostname", "n1"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if fits := two(tt.pod).fits(t, "p", tainting("n1", "a:NoExecute")); fits != tt.back {
				t.Errorf("fits %t, want %t", fits, tt.back)
			}
		})
	}
}
