// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// bindTo gives a claim of namespace "app" a volume with an affinity.
func (w world) bindTo(claim, volume string, terms ...corev1.NodeSelectorTerm) world {
	if w.Volumes == nil {
		w.Volumes = map[string]map[string]*Volume{"app": {}}
	}
	w.Volumes["app"][claim] = &Volume{Name: volume, Affinity: &corev1.NodeSelector{NodeSelectorTerms: terms}}
	return w
}

func claiming(claims ...string) podOption {
	return func(p *Pod) { p.Claims = claims }
}

func onHost(name string) corev1.NodeSelectorTerm {
	return expression("kubernetes.io/hostname", "In", name)
}

// many makes nodes that are alike.
func many(n int, prefix string, one func(name string) *Node) []*Node {
	var out []*Node
	for i := range n {
		out = append(out, one(fmt.Sprintf("%s-%d", prefix, i)))
	}
	return out
}

func TestEvaluate_namesWhatStandsInTheWay(t *testing.T) {
	t.Parallel()
	inPool := func(n *Node) *Node { return labelled(n, "pool", "a") }
	pool := selecting("pool", "a")
	grown := func(nodes ...[]*Node) world {
		w := newWorld(inPool(having(node("n1"), 100, 100)))
		for _, list := range nodes {
			for _, n := range list {
				w.Nodes[n.Name] = n
			}
		}
		return w
	}
	tainted := func(name string) *Node { return inPool(having(node(name, "dedicated=gpu:NoExecute"), 4, 8)) }
	small := func(name string) *Node { return inPool(having(node(name), 2, 4)) }
	outside := func(name string) *Node { return having(node(name), 100, 100) }
	for _, tt := range []struct {
		name   string
		world  world
		change Change
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
			world: grown(many(2, "s", small)).run(pod("p", "n1", asking(1, 1, Amount{"example.com/gpu", 1}))),
			want:  ": 2 lack example.com/gpu (needs 1, none free)",
		},
		{
			name:  "processors in thousandths, where they are no whole ones",
			world: grown(many(1, "s", small)).run(pod("p", "n1", asking(2, 1)), other("q", "s-0", func(p *Pod) { p.Demand = &Demand{Holds: Resources{MilliCPU: 500}} })),
			want:  ": 1 lacks cpu (needs 2, 1500m free)",
		},
		{name: "nodes that are full of pods", world: grown(many(1, "s", small)).run(pod("p", "n1")).run(tenPods("s-0")...), want: ": 1 takes no more pods"},
		{name: "a cordon, and not the taint that comes with it", world: grown([]*Node{cordoned(node("c", "node.kubernetes.io/unschedulable:NoSchedule"))}).run(pod("p", "n1")), want: ": 1 is cordoned"},
		{name: "required affinity", world: grown(many(2, "o", outside)).run(pod("p", "n1", requiring(expression("pool", "Exists")))), want: ": 2 do not match its node affinity"},
		{
			name: "nodes that are drained by the same change, apart from its own", change: draining("n1", "o-0"),
			world: grown(many(1, "o", outside)).run(pod("p", "n1")), want: ": 1 is drained",
		},
		{
			name:  "other nodes with the same obstacle as its own",
			world: grown(many(1, "x", func(name string) *Node { return node(name, "a:NoExecute") })).run(pod("p", "n1")),
			want:  ": 1 is tainted a:NoExecute",
		},
		{
			name: "at most four kinds, and how many nodes there are beside",
			world: grown([]*Node{node("a1", "a:NoSchedule"), node("b1", "b:NoSchedule"), node("c1", "c:NoSchedule"), node("d1", "d:NoSchedule"), node("e1", "e:NoSchedule"), cordoned(node("f1"))}).
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
			if c.Taints == nil && c.Drains == nil {
				c = tainting("n1", "a:NoExecute")
			}
			v := about(t, Evaluate(tt.world.Snapshot, c, ComparisonOff), "p")
			_, got, found := strings.Cut(v.Reason, "; no other node would take it")
			if !found || got != tt.want {
				t.Errorf("got  %q\nwant %q\nof   %q", got, tt.want, v.Reason)
			}
		})
	}
}

func TestEvaluate_volumesBindPodsToNodes(t *testing.T) {
	t.Parallel()
	// The affinity of every volume is one value, as in a snapshot.
	two := func(p *Pod) world {
		return newWorld(node("n1"), node("n2")).run(p).bindTo("here", "pv-1", onHost("n1")).bindTo("there", "pv-2", onHost("n2")).
			bindTo("named", "pv-3", corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"n9"}}}}).
			bindTo("broken", "pv-4", expression("x", "Nonsense"))
	}
	for _, tt := range []struct {
		name string
		pod  *Pod
		back bool
	}{
		{name: "a pod without claims goes anywhere", pod: pod("p", "n1"), back: true},
		{name: "a volume on its own node keeps it there", pod: pod("p", "n1", claiming("here"))},
		{name: "a volume on another node lets it go there", pod: pod("p", "n1", claiming("there")), back: true},
		{name: "volumes on two nodes leave none", pod: pod("p", "n1", claiming("there", "here"))},
		{name: "a claim that is not bound to certain nodes binds nobody", pod: pod("p", "n1", claiming("unbound")), back: true},
		{name: "a claim of another namespace is another one", pod: pod("p", "n1", claiming("here"), func(p *Pod) { p.Namespace = "elsewhere" }), back: true},
		{name: "names of nodes are not looked at, as in the scheduler", pod: pod("p", "n1", claiming("named")), back: true},
		{name: "an affinity that does not parse matches nothing", pod: pod("p", "n1", claiming("broken"))},
		{name: "a node selector counts beside a volume", pod: pod("p", "n1", claiming("there"), selecting("kubernetes.io/hostname", "n1"))},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if v := only(t, Evaluate(two(tt.pod).Snapshot, tainting("n1", "a:NoExecute"), ComparisonOff)); v.Reschedulable != tt.back {
				t.Errorf("reschedulable %t, want %t: %s", v.Reschedulable, tt.back, v.Reason)
			}
		})
	}
}

func TestEvaluate_saysOfPodsThatStayWhyNoOtherNodeWouldTakeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 4, 8), having(node("n2"), 2, 4)).run(pod("p", "n1", asking(3, 8)))
	v := only(t, Evaluate(w.Snapshot, tainting("n1", "a:NoSchedule"), ComparisonOff))
	if want := "could not be scheduled on this node again, nor on any other: 1 lacks memory (needs 8Gi, 4Gi free)"; v.Reschedulable || !strings.HasSuffix(v.Reason, want) {
		t.Errorf("%t, %q", v.Reschedulable, v.Reason)
	}
}

func TestAmount_neverLooksAsIfItFitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  corev1.ResourceName
		value int64
		up    bool
		want  string
	}{
		{"memory", 0, true, "0"},
		{"memory", 1023, true, "1023"},
		{"memory", 8 << 30, true, "8Gi"},
		{"memory", 8<<30 + 1, true, "8.1Gi"},
		{"memory", 8<<30 - 1, true, "8Gi"},
		{"memory", 8<<30 - 1, false, "7.9Gi"},
		{"memory", 3<<30 + 1<<29, false, "3.5Gi"},
		{"ephemeral-storage", 1<<62 - 1, false, "4095.9Pi"},
		{"hugepages-2Mi", 4 << 20, true, "4Mi"},
		{"cpu", 2000, true, "2"},
		{"cpu", 2500, true, "2500m"},
		{"example.com/gpu", 3, true, "3"},
	} {
		if got := amount(tt.name, tt.value, tt.up); got != tt.want {
			t.Errorf("%s %d: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}
