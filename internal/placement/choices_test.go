// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestChance_pick chooses by names: nodes that lose can come and go, and each node wins for some pod.
func TestChance_pick(t *testing.T) {
	t.Parallel()
	all, won := []string{"n1", "n2", "n3", "n4"}, map[string]bool{}
	pick := func(c chance, names []string) string {
		return names[c.pick(len(names), func(i int) uint64 { return nameOf(names[i]) })]
	}
	for seed := range uint64(50) {
		c := newChance(seed, 1)
		winner := pick(c, all)
		won[winner] = true
		for _, loser := range all {
			if without := slices.DeleteFunc(slices.Clone(all), func(name string) bool { return name == loser }); loser != winner && pick(c, without) != winner {
				t.Errorf("seed %d: %s wins, and without %s %s does", seed, winner, loser, pick(c, without))
			}
		}
	}
	if len(won) != len(all) {
		t.Errorf("only %v ever win", won)
	}
	if nameOf("a", "bc") == nameOf("ab", "c") {
		t.Error("a pod of another namespace has the same number")
	}
}

// ofNode returns the simulation of a pod that is evicted from a node which is gone, and its replacement.
func ofNode(t *testing.T, p *snapshot.Pod, nodes ...*snapshot.Node) (*simulation, *replacement) {
	t.Helper()
	w := newWorld(nodes...)
	s := newSimulation(New(w.Snapshot, Scenario{}, false), []Eviction{{Pod: p, Scheduling: p.Scheduling}})
	if len(s.replacements) != 1 {
		t.Fatalf("there are %d replacements", len(s.replacements))
	}
	return s, s.replacements[0]
}

// TestSimulation_find: the node with the highest score takes a pod, of equal ones the one that chance picks by its
// name, and any node in every fifth order.
func TestSimulation_find(t *testing.T) {
	t.Parallel()
	equal, larger, inAny := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for seed := range uint64(30) {
		s, r := ofNode(t, pod("p", "gone", asking(1, 1), scored(1, 1)), having(node("a"), 4, 4), having(node("b"), 4, 4), having(node("c"), 2, 2))
		s.run(seed, 0)
		want := s.chance.of(ofNodes, r.name).pick(2, func(i int) uint64 { return nameOf(string("ab"[i])) })
		if at := s.places[r.node].node.Name; at != string("ab"[want]) {
			t.Errorf("seed %d: it is on %s, and chance picks %s", seed, at, string("ab"[want]))
		}
		equal[s.placed()["p"]] = true
		s, _ = ofNode(t, pod("p", "gone", asking(1, 1), scored(1, 1)), having(node("a"), 2, 2), having(node("b"), 8, 8), having(node("c"), 2, 2))
		s.run(seed, 0)
		larger[s.placed()["p"]] = true
		s.run(seed, 4)
		inAny[s.placed()["p"]] = true
	}
	if len(equal) != 2 || len(larger) != 1 || !larger["b"] || len(inAny) != 3 {
		t.Errorf("of equal nodes %v take it, the largest takes it: %v, and in any order %v", equal, larger, inAny)
	}
}

// TestSimulation_each looks at every node once, from where the last search ended, or at every candidate.
func TestSimulation_each(t *testing.T) {
	t.Parallel()
	nodes := many(7, "n", func(name string) *snapshot.Node { return labelled(node(name), "pool", name[:3]) })
	s, r := ofNode(t, pod("p", "gone"), nodes...)
	s.run(1, 1)
	visit := func(l *nodeSearch, c chance, stop int) (seen []int32) {
		s.each(l, c, func(i int32) bool {
			seen = append(seen, i)
			return len(seen) < stop
		})
		return seen
	}
	s.next = 5
	if got, want := visit(r.class.search, s.chance, 4), []int32{s.order[5], s.order[6], s.order[0], s.order[1]}; !slices.Equal(got, want) || s.next != 2 {
		t.Errorf("visits %v, want %v, and the next begins at %d", got, want, s.next)
	}
	s.next = 3
	if got := visit(r.class.search, s.chance, 5); s.next != 1 || len(got) != 5 {
		t.Errorf("visits %v, and the next begins at %d", got, s.next)
	}
	s.next = 6
	if got, want := visit(r.class.search, s.chance, 99), append([]int32{s.order[6]}, s.order[:6]...); !slices.Equal(got, want) {
		t.Errorf("visits %v, want %v", got, want)
	}
	few := pod("few", "gone", requiring(expression("pool", corev1.NodeSelectorOpIn, "n-2", "n-4", "n-5")))
	first := map[int32]bool{}
	for seed := range uint64(30) {
		l := s.search(few, few.Scheduling)
		got := visit(l, chance(seed), 99)
		if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, []int32{2, 4, 5}) {
			t.Fatalf("visits %v", got)
		}
		if short := visit(l, chance(seed), 2); !slices.Equal(short, got[:2]) {
			t.Errorf("stops after %v, want %v", short, got[:2])
		}
		first[got[0]] = true
	}
	if len(first) != 3 {
		t.Errorf("it begins with %v alone", first)
	}
	none := pod("none", "gone", selecting("pool", "other"))
	if got := visit(s.search(none, none.Scheduling), s.chance, 99); len(got) > 0 {
		t.Errorf("without a candidate it visits %v", got)
	}
}

// TestSimulation_nodesByTheirIndex: the only node with room is the first by its name.
func TestSimulation_nodesByTheirIndex(t *testing.T) {
	t.Parallel()
	near := []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}
	for name, options := range map[string][]podOption{
		"pods without rules":  {asking(1, 1)},
		"pods with affinity":  {asking(1, 1), labelledAs("app", "web"), ruled(&snapshot.PodRules{Affinity: near})},
		"pods of an own kind": {asking(1, 1), ownedBy("StatefulSet", "web")},
	} {
		w := newWorld(having(node("n1"), 9, 9), having(node("a"), 3, 3)).run(replicas("web", "n1", 5, options...)...)
		evicted := w.evictAll("n1")
		for i := range evicted {
			evicted[i].Ordered = evicted[i].Pod.Controller.Kind == "StatefulSet"
		}
		evicted[4].After = 60
		s := newSimulation(New(w.Snapshot, gone("n1"), false), evicted)
		for order := range 8 {
			s.run(1, order)
			on := 0
			for _, at := range s.placed() {
				if at == "a" {
					on++
				}
			}
			if n := s.state(0); on != 3 || n.pods != 3 || n.milliCPU != 3000 || len(n.placed) != 3 {
				t.Fatalf("%s, order %d: %d are on a, which holds %+v", name, order, on, *n)
			}
		}
		out := New(w.Snapshot, gone("n1"), false).Simulate(evicted, Orders, 1)
		if got := out.of(t, "web"); got.Placed != exactly(3) || got.Missing != exactly(2) || got.Pending.Max+got.NotCreated.Max != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestClassOf_podsWithOtherLabelsAreOfAnotherClass where pods keep others away.
func TestClassOf_podsWithOtherLabelsAreOfAnotherClass(t *testing.T) {
	t.Parallel()
	away := []snapshot.PodTerm{{TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}
	w := newWorld(having(node("n1"), 9, 9), having(node("n2"), 9, 9)).
		run(replicas("calm", "n1", 1, asking(1, 1), labelledAs("app", "calm"))...).run(replicas("web", "n1", 1, asking(1, 1), labelledAs("app", "web"))...).
		run(other("guard", "n2", ruled(&snapshot.PodRules{AntiAffinity: away})))
	web, calm := w.named(t, "web-0"), w.named(t, "calm-0")
	web.Scheduling, web.Demand = calm.Scheduling, calm.Demand
	out := w.simulate()
	if out.of(t, "web").Pending != exactly(1) || out.of(t, "calm").Placed != exactly(1) {
		t.Errorf("web: %+v, calm: %+v", out.of(t, "web"), out.of(t, "calm"))
	}
}

// TestSimulate_countsNodesThatLackTheSame, and names what keeps pods and new machines from taking it.
func TestSimulate_reasonsOfAPodOfANodeThatIsGone(t *testing.T) {
	t.Parallel()
	port := &snapshot.PodRules{Ports: []snapshot.HostPort{{IP: "0.0.0.0", Protocol: corev1.ProtocolTCP, Port: 80}}}
	comes := func(n *snapshot.Node) Scenario { return Scenario{Comes: []Coming{{Node: n, Of: "MachineSet a"}}} }
	for name, tt := range map[string]struct {
		pod           *snapshot.Pod
		change        Scenario
		reason, brief string
	}{
		"two nodes lack the same":                  {pod("p", "gone", asking(4, 1)), Scenario{}, "2 lack cpu (needs 4, at most 2 free)", "2 cpu"},
		"two nodes have its port in use":           {pod("p", "gone", asking(1, 1), ruled(port)), Scenario{}, "2 have its host port in use", "2 host port"},
		"a volume is elsewhere":                    {pod("p", "gone", asking(1, 1), claiming("data")), Scenario{}, "its volume data is bound to no node of this cluster", "2 volume"},
		"new machines lack it as well":             {pod("p", "gone", asking(4, 1)), comes(having(node("new"), 3, 3)), "2 lack cpu (needs 4, at most 2 free); the new machines lack cpu (needs 4, at most 3 free)", "2 cpu"},
		"new machines are not where its volume is": {pod("p", "gone", asking(1, 1), claiming("data")), comes(having(node("new"), 3, 3)), "its volume data is bound to no node of this cluster; the new machines are not where its volume is", "2 volume"},
		"new machines take it":                     {pod("p", "gone", asking(4, 1)), comes(having(node("new"), 4, 4)), "2 lack cpu (needs 4, at most 2 free)", "2 cpu"},
	} {
		w := newWorld(having(node("n1"), 2, 2), having(node("n2"), 1, 2)).run(other("u1", "n1", asking(0, 0), ruled(port)), other("u2", "n2", asking(0, 0), ruled(port))).
			bindTo("data", "data", onHost("elsewhere"))
		got := New(w.Snapshot, tt.change, false).Simulate([]Eviction{{Pod: tt.pod, Scheduling: tt.pod.Scheduling}}, 1, 1).of(t, "web-5d")
		if got.Reason != tt.reason || got.Brief != tt.brief {
			t.Errorf("%s: %q (%s)", name, got.Reason, got.Brief)
		}
	}
}

// TestBriefly has the most frequent kind first.
func TestBriefly(t *testing.T) {
	t.Parallel()
	all := []counted{
		{obstacle: obstacle{kind: byTaint, key: "a"}, nodes: 2}, {obstacle: obstacle{kind: byCordon}, nodes: 3}, {obstacle: obstacle{kind: byTaint, key: "b"}, nodes: 2},
		{obstacle: obstacle{kind: byDrain}, nodes: 1}, {obstacle: obstacle{kind: bySelector}, nodes: 1},
	}
	if got := briefly(all); got != "4 taint, 3 cordon, 1 drain, 1 selector" {
		t.Errorf("got %q", got)
	}
}

func TestBalance_ofANodeWithoutCPUOrMemoryIsTheBest(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		used, all [2]int64
		want      int64
	}{
		"both equally":  {[2]int64{1, 2}, [2]int64{2, 4}, 100},
		"one alone":     {[2]int64{2, 0}, [2]int64{2, 4}, 50},
		"no CPU":        {[2]int64{1, 0}, [2]int64{0, 4}, 100},
		"no memory":     {[2]int64{0, 1}, [2]int64{4, 0}, 100},
		"none of both":  {[2]int64{1, 1}, [2]int64{0, 0}, 100},
		"more than all": {[2]int64{9, 4}, [2]int64{2, 4}, 100},
	} {
		if got := balance(tt.used, tt.all); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

// TestNodeState_weighsAnew with each pod that comes or is gone.
func TestNodeState_weighsAnew(t *testing.T) {
	t.Parallel()
	s, r := ofNode(t, pod("p", "gone", asking(2, 0)), having(node("a"), 4, 4))
	s.run(1, 0)
	s.remove(0, occupant{pod: r.pod, replacement: r})
	for i, want := range []int64{75, 50, 75, 100} {
		if i < 2 {
			s.add(0, occupant{pod: r.pod, replacement: r})
		} else {
			s.remove(0, occupant{pod: r.pod, replacement: r})
		}
		if got := s.state(0).balanced; got != want {
			t.Errorf("step %d: balanced %d, want %d", i, got, want)
		}
	}
}

// TestFinder_lookUp returns the nodes that all terms together can allow, each once and in order.
func TestFinder_lookUp(t *testing.T) {
	t.Parallel()
	in := func(key string, values ...string) corev1.NodeSelectorTerm {
		return expression(key, corev1.NodeSelectorOpIn, values...)
	}
	byName := func(key string, op corev1.NodeSelectorOperator, names ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{Key: key, Operator: op, Values: names}}}
	}
	both := func(a, b corev1.NodeSelectorTerm) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchFields: append(slices.Clone(a.MatchFields), b.MatchFields...), MatchExpressions: append(slices.Clone(a.MatchExpressions), b.MatchExpressions...)}
	}
	w := newWorld(many(6, "n", func(name string) *snapshot.Node {
		return labelled(labelled(node(name), "pool", string("aabbbb"[name[2]-'0'])), "disk", string("xyxyxy"[name[2]-'0']))
	})...)
	f := New(w.Snapshot, Scenario{}, false)
	f.allPlaces()
	for name, tt := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  string
		all   bool
	}{
		"no term":                             {nil, "", true},
		"one value":                           {[]corev1.NodeSelectorTerm{in("pool", "a")}, "n-0 n-1", false},
		"two values":                          {[]corev1.NodeSelectorTerm{in("disk", "y", "z", "x")}, "n-1 n-3 n-5 n-0 n-2 n-4", false},
		"a value that no node has":            {[]corev1.NodeSelectorTerm{in("pool", "z")}, "", false},
		"the requirement that fewest meet":    {[]corev1.NodeSelectorTerm{both(in("disk", "x"), in("pool", "a"))}, "n-0 n-1", false},
		"and whichever comes first":           {[]corev1.NodeSelectorTerm{both(in("pool", "a"), in("disk", "x"))}, "n-0 n-1", false},
		"two terms, each node once, in order": {[]corev1.NodeSelectorTerm{in("disk", "y"), in("pool", "a")}, "n-0 n-1 n-3 n-5", false},
		"a name":                              {[]corev1.NodeSelectorTerm{byName("metadata.name", "In", "n-3")}, "n-3", false},
		"a name beside a label":               {[]corev1.NodeSelectorTerm{both(byName("metadata.name", "In", "n-3", "n-9", "n-2", "n-4"), in("pool", "a"))}, "n-3 n-2 n-4", false},
		"every other name":                    {[]corev1.NodeSelectorTerm{byName("metadata.name", "NotIn", "n-3")}, "", true},
		"another field":                       {[]corev1.NodeSelectorTerm{byName("metadata.uid", "In", "n-3")}, "", true},
		"a term that names none":              {[]corev1.NodeSelectorTerm{in("pool", "a"), expression("disk", corev1.NodeSelectorOpExists)}, "", true},
	} {
		got, named := f.lookUp(tt.terms)
		var names []string
		for _, p := range got {
			names = append(names, p.node.Name)
		}
		if strings.Join(names, " ") != tt.want || named == tt.all {
			t.Errorf("%s: %v, any node: %t", name, names, !named)
		}
	}
}

// TestCandidates_ofNoNodeAreNone: a cluster can have lost all nodes.
func TestSimulate_withoutNodes(t *testing.T) {
	t.Parallel()
	s, _ := ofNode(t, pod("p", "gone", asking(1, 1), priority(9)))
	if out := s.try(3, 1); out.Pending != exactly(1) {
		t.Errorf("got %+v", out)
	}
}

// TestRank_ofTheFirstOrderIsThatInWhichPodsAreGiven, behind those that waited before.
func TestRank_ofTheFirstOrderIsThatInWhichPodsAreGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(having(node("n1"), 9, 9)).run(replicas("web", "n1", 12, asking(1, 1))...)
	w.Waiting = []*snapshot.Pod{other("late", "", since(9)), other("early", "", since(3))}
	s := newSimulation(New(w.Snapshot, gone("n1"), false), w.evictAll("n1"))
	var names []string
	for _, order := range []int{0, 1, 2} {
		s.run(1, order)
		names = names[:0]
		for _, r := range s.ranked {
			names = append(names, r.pod.Name)
		}
		given := []string{"early", "late"}
		for i := range 12 {
			given = append(given, fmt.Sprintf("web-%d", i))
		}
		if first := strings.Join(names[:2], " ") == "early late"; first != (order%2 == 0) || slices.Equal(names, given) != (order == 0) {
			t.Errorf("order %d: the ranks are %v", order, names)
		}
	}
}
