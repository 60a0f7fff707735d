// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// preemptionCase is a pod, the pods on nodes, and what preemption would do.
type preemptionCase struct {
	name string
	// pod is the pod to place, pods are the others: a name with a node, and then in any order a
	// priority, a size, a start time such as "t4", "foo" for the label, "port" for a host port, "only:" with the node that its
	// affinity requires, "nominated:" with its nominated node, "terminating", and "victim" for one that terminates since preemption has evicted it.
	pod  string
	pods []string
	// nodes are node1 to node5, as many as the pods use, where none are named.
	nodes []string
	// spreads is set where the pod spreads over zones and hosts.
	spreads bool
	// apart is a pod that has an anti-affinity to the label.
	apart string
	// allowed is what the PodDisruptionBudget of the pods with the label allows, -1 for none.
	allowed int32
	// disrupted is a pod whose eviction the PodDisruptionBudget has granted, "" for none.
	disrupted string
	// has is what nodes have, hasOn what some have instead, taint one of theirs.
	has, taint string
	hasOn      map[string]string
	// turns is how often candidates are looked for, once by default.
	turns int
	// want has the victims of each node that is a candidate, behind "!" how many PodDisruptionBudgets are violated.
	want []string
	// best is the node that is chosen, "" for any.
	best string
}

var (
	priorities = map[string]int32{"neg": -100, "low": 0, "mid": 100, "high": 1000, "veryHigh": 10000}
	sizes      = map[string]string{"small": "cpu=100m memory=100", "medium": "cpu=200m memory=200", "large": "cpu=300m memory=300", "veryLarge": "cpu=500m memory=500"}
)

// read reads a pod.
func (c *preemptionCase) read(text string) *corev1.Pod {
	words := strings.Fields(text)
	name, at, _ := strings.Cut(words[0], "@")
	p := labelledPod("")
	p.Name, p.Spec.NodeName, p.Spec.Containers, p.Spec.Priority = name, at, containers(""), new(int32(0))
	for _, word := range words[1:] {
		if key, value, cut := strings.Cut(word, ":"); cut {
			preemptionKeys[key](p, value)
		} else if set := preemptionWords[word]; set != nil {
			set(p)
		} else {
			c.readAmount(p, word)
		}
	}
	if name == c.apart && name != "" {
		p.apart("foo@hostname")
	}
	return &p.Pod
}

// preemptionWords are the words of pods that have no value, preemptionKeys those that have one.
var (
	preemptionWords = map[string]func(p *apiPod){
		"foo":   func(p *apiPod) { p.Labels["foo"] = "" },
		"never": func(p *apiPod) { p.Spec.PreemptionPolicy = new(corev1.PreemptNever) },
		"port": func(p *apiPod) {
			p.Spec.InitContainers = append(p.Spec.InitContainers, ports("TCP//80"))
			p.Spec.InitContainers[0].RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		},
		"terminating": func(p *apiPod) { p.DeletionTimestamp = &metav1.Time{} },
		"victim": func(p *apiPod) {
			p.DeletionTimestamp = &metav1.Time{}
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonPreemptionByScheduler}}
		},
	}
	preemptionKeys = map[string]func(p *apiPod, value string){
		"nominated": func(p *apiPod, value string) { p.Status.NominatedNodeName = value },
		"only": func(p *apiPod, value string) {
			p.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
				NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("hostname", corev1.NodeSelectorOpIn, value)},
			}}
		},
	}
)

// readAmount reads a size, a start time or a priority.
func (c *preemptionCase) readAmount(p *apiPod, word string) {
	priority, known := priorities[word]
	switch {
	case known:
		p.Spec.Priority = &priority
	case sizes[word] != "":
		p.Spec.Containers = containers(sizes[word])
	case strings.Contains(word, "="):
		p.Spec.Containers = containers(word)
	default:
		seconds, err := strconv.ParseInt(strings.TrimPrefix(word, "t"), 10, 64)
		if err != nil {
			panic(err)
		}
		start := metav1.Unix(seconds, 0)
		p.Status.StartTime = &start
	}
}

func (c *preemptionCase) world() world {
	nodes, used := c.nodes, map[string]bool{}
	var pods []*snapshot.Pod
	for _, text := range c.pods {
		p := c.read(text)
		pods = append(pods, fromAPI(p))
		if !used[p.Spec.NodeName] && c.nodes == nil {
			used[p.Spec.NodeName], nodes = true, append(nodes, p.Spec.NodeName+" hostname="+p.Spec.NodeName)
		}
	}
	w, has := topologyWorld(nodes), c.has
	if has == "" {
		has = sizes["veryLarge"] + " pods=32"
	}
	for _, n := range w.Nodes {
		resources := snapshot.ResourcesOf(amounts(cmp.Or(c.hasOn[n.Name], has)))
		n.Allocatable, n.Taints = &resources, nil
		if c.taint != "" {
			n.Taints = taintsOf(c.taint)
		}
	}
	if c.allowed >= 0 {
		w.Budgets = snapshot.Budgets{"": {{Name: "pdb", Selector: metav1Selector("foo"), Allowed: c.allowed, Disrupted: map[string]bool{c.disrupted: true}}}}
	}
	return w.run(pods...)
}

func (c *preemptionCase) run(t *testing.T) {
	t.Helper()
	p := c.read(c.pod)
	if c.spreads {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{spread("zone"), spread("hostname")}
	}
	s, class := c.world().prepared(fromAPI(p))
	for turn := range max(c.turns, 1) {
		s.chance = newChance(1, turn+1)
		c.look(t, s, class)
	}
}

// look compares the candidates and the node that is chosen.
func (c *preemptionCase) look(t *testing.T, s *simulation, class *class) {
	t.Helper()
	candidates := []candidate{}
	if !class.demand.Patient {
		candidates = s.candidates(class, s.chance)
	}
	got := victimsOf(s, candidates)
	if diff := gocmp.Diff(c.want, got); diff != "" && c.want != nil || (c.want == nil && c.best == "" && len(got) > 0) {
		t.Errorf("candidates: %s", diff)
	}
	if c.best == "" {
		return
	}
	for _, i := range cheapest(candidates) { // Chance decides between them.
		if best := s.places[candidates[i].node].node.Name; best != c.best {
			t.Errorf("%s is chosen, want %s", best, c.best)
		}
	}
}

// victimsOf returns the victims of each candidate, sorted.
func victimsOf(s *simulation, candidates []candidate) (out []string) {
	for _, one := range candidates {
		var names []string
		for _, v := range one.victims {
			names = append(names, v.pod.Name)
		}
		slices.Sort(names)
		text := s.places[one.node].node.Name + ": " + strings.Join(names, " ")
		if one.violations > 0 {
			text += " !" + strconv.Itoa(one.violations)
		}
		out = append(out, text)
	}
	slices.Sort(out)
	return out
}

// preemptionCases are the facts of TestDryRunPreemption in k8s.io/kubernetes v1.37.2
// pkg/scheduler/framework/plugins/defaultpreemption/default_preemption_test.go, and those of
// TestSelectVictimsOnNode, TestPostFilter and TestPodEligibleToPreemptOthers there.
func preemptionCases() []preemptionCase {
	type list = []string
	zones := list{"a hostname=a,zone=zone1", "b hostname=b,zone=zone1", "x hostname=x,zone=zone2"}
	const onePod, five = "pods=1", "cpu=5 memory=500 pods=32"
	return []preemptionCase{
		// TestDryRunPreemption.
		{name: "no node takes it anyway", pod: "p high", pods: list{"p1@node1 mid", "p2@node2 mid"}, taint: "a:NoSchedule", allowed: -1},
		{name: "it fits without", pod: "p high", pods: list{"p1@node1 mid", "p2@node2 mid"}, allowed: -1},
		{name: "it fits on one without, and not on the other", pod: "p high only:node1", pods: list{"p1@node1 mid", "p2@node2 mid"}, allowed: -1},
		{name: "two nodes", pod: "p high large", pods: list{"p1@node1 mid large", "p2@node2 mid large"}, allowed: -1, want: list{"node1: p1", "node2: p2"}},
		{name: "higher priorities", pod: "p low large", pods: list{"p1@node1 mid large", "p2@node2 mid large"}, allowed: -1},
		{name: "a small pod of a lower priority stays", pod: "p high large", pods: list{"p1.1@node1 low small", "p1.2@node1 mid large", "p2@node2 mid large"}, allowed: -1, want: list{"node1: p1.2", "node2: p2"}},
		{name: "several priorities", pod: "p high large", pods: list{"p1.1@node1 mid small", "p1.2@node1 low small", "p1.3@node1 mid medium", "p1.4@node1 high small", "p2@node2 high large"}, allowed: -1, want: list{"node1: p1.2 p1.3"}},
		{name: "the same priority, the younger one", pod: "p high large", pods: list{"p1.1@node1 low small t5", "p1.2@node1 low small t4", "p1.3@node1 mid medium t3", "p1.4@node1 high small t2", "p2@node2 high large t1"}, allowed: -1, want: list{"node1: p1.1 p1.3"}},
		{name: "anti-affinity", pod: "p high small foo", pods: list{"p1.1@node1 low small foo", "p1.2@node1 mid small", "p1.3@node1 high small", "p2@node2 high small"}, apart: "p1.1", allowed: -1, want: list{"node1: p1.1"}},
		{name: "topology spread", pod: "p high foo", nodes: zones, pods: list{"a1@a mid foo", "a2@a low foo", "b1@b low foo", "x1@x high foo", "x2@x high foo"}, spreads: true, allowed: -1, want: list{"a: a2", "b: b1"}},
		{name: "another filter refuses it afterwards", pod: "p high large port", pods: list{"p1@node1 mid large", "p2@node2 mid large", "q1@node1 veryHigh port", "q2@node2 veryHigh port"}, allowed: -1},
		{name: "two pods of a budget that allows one", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium foo", "p1.2@node1 mid medium foo"}, allowed: 1, want: list{"node1: p1.1 p1.2 !1"}},
		{name: "two pods of a budget that allows one, and knows of another", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium foo", "p1.2@node1 mid medium foo"}, allowed: 1, disrupted: "p2", want: list{"node1: p1.1 p1.2 !1"}},
		{name: "two pods of a budget that allows one and has granted the other", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium foo", "p1.2@node1 mid medium foo"}, allowed: 1, disrupted: "p1.2", want: list{"node1: p1.1 p1.2"}},
		{name: "three pods of a budget that allows one and has granted another", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium foo", "p1.2@node1 mid medium foo", "p1.3@node1 mid medium foo"}, has: "cpu=600m memory=600 pods=32", allowed: 1, disrupted: "p1.3", want: list{"node1: p1.1 p1.2 p1.3 !1"}},
		{name: "five nodes", pod: "p high large", pods: list{"p1@node1 mid large", "p2@node2 mid large", "p3@node3 mid large", "p4@node4 mid large", "p5@node5 mid large"}, allowed: -1, want: list{"node1: p1", "node2: p2", "node3: p3", "node4: p4", "node5: p5"}},
		{name: "five nodes, two with a higher priority", pod: "p high large", pods: list{"p1@node1 mid large", "p2@node2 veryHigh large", "p3@node3 mid large", "p4@node4 mid large", "p5@node5 veryHigh large"}, allowed: -1, want: list{"node1: p1", "node3: p3", "node4: p4"}},
		{name: "five nodes, three with a budget", pod: "p high large", pods: list{"p1@node1 mid large foo", "p2@node2 mid large foo", "p3@node3 mid large", "p4@node4 mid large", "p5@node5 mid large foo"}, allowed: 0, want: list{"node1: p1 !1", "node2: p2 !1", "node3: p3", "node4: p4", "node5: p5 !1"}},
		{name: "five nodes, for three pods in turn", pod: "p high large", pods: list{"p1@node1 mid large", "p2@node2 mid large", "p3@node3 mid large", "p4@node4 mid large", "p5@node5 mid large"}, turns: 3, allowed: -1, want: list{"node1: p1", "node2: p2", "node3: p3", "node4: p4", "node5: p5"}},
		{name: "enough without what is claimed", pod: "p high cpu=3", pods: list{"p1@node1 mid cpu=1"}, has: five, allowed: -1},

		// TestSelectVictimsOnNode.
		{name: "victims: one of a lower priority", pod: "p high large", pods: list{"victim@node1 low large"}, allowed: -1, want: list{"node1: victim"}},
		{name: "victims: the lowest priority", pod: "p high large", pods: list{"high@node1 high small", "mid@node1 mid small", "low@node1 low small"}, allowed: -1, want: list{"node1: low"}},
		{name: "victims: not the one with a budget", pod: "p high large", pods: list{"pdb@node1 low medium foo", "none@node1 mid medium"}, allowed: 0, want: list{"node1: none"}},
		{name: "victims: both with a budget, the lowest priority", pod: "p high large", pods: list{"v1@node1 low medium foo", "v2@node1 mid medium foo"}, allowed: 0, want: list{"node1: v1 !1"}},
		{name: "victims: a higher priority", pod: "p mid", pods: list{"victim@node1 high"}, allowed: -1},
		{name: "victims: an empty node", pod: "p mid", nodes: list{"node1"}, allowed: -1},

		// TestPostFilter.
		{name: "filter: a higher priority", pod: "p high", pods: list{"p1@node1"}, has: onePod, allowed: -1, want: list{"node1: p1"}},
		{name: "filter: the same priority", pod: "p", pods: list{"p1@node1"}, has: onePod, allowed: -1},
		{name: "filter: a node that never takes it", pod: "p high", pods: list{"p1@node1"}, has: onePod, taint: "a:NoSchedule", allowed: -1},
		{name: "filter: one of two nodes", pod: "p mid", pods: list{"p1@node1 high", "p2@node2 low"}, has: onePod, allowed: -1, want: list{"node2: p2"}},
		{name: "filter: the node with the lowest highest priority", pod: "p veryHigh", pods: list{"p1@node1 high", "p2@node1 low foo", "p3@node2 mid foo"}, has: onePod, allowed: 0, best: "node2"},
		{name: "filter: not enough without the lower priorities", pod: "p high large", pods: list{"p1@node1", "p2@node2"}, has: "cpu=200m memory=400 pods=32", allowed: -1},
		{name: "filter: no lower priority on two nodes, too small the third", pod: "p high large", pods: list{"p1@node1 high", "p2@node2", "p3@node3 high"}, has: "cpu=200m memory=400 pods=32", hasOn: map[string]string{"node1": onePod, "node3": onePod}, allowed: -1},
		{name: "filter: not enough on any of four nodes", pod: "p high large", pods: list{"p1@node1", "p2@node2"}, nodes: list{"node1", "node2", "node3", "node4"}, has: "cpu=200m memory=400 pods=32", allowed: -1},

		// TestPodEligibleToPreemptOthers.
		{name: "eligible: preemptionPolicy Never", pod: "p high never", pods: list{"p1@node1"}, has: onePod, allowed: -1},

		// TestPreempt.
		{name: "preempt: the node with the lowest priorities", pod: "p high veryLarge", pods: list{"p1.1@node1 low small", "p1.2@node1 low small", "p2.1@node2 high large", "p3.1@node3 mid medium"}, allowed: -1, best: "node1", want: list{"node1: p1.1 p1.2", "node3: p3.1"}},
		{name: "preempt: topology spread", pod: "p high foo", nodes: zones, pods: list{"a1@a high foo", "a2@a high foo", "b1@b low foo", "x1@x high foo", "x2@x high foo"}, spreads: true, allowed: -1, best: "b", want: list{"b: b1"}},
		{name: "preempt: the lower sum of priorities", pod: "p high veryLarge", pods: list{"p1.1@node1 mid small", "p1.2@node1 low small", "p2.1@node2 mid large"}, allowed: -1, best: "node2"},
		{name: "preempt: preemptionPolicy Never", pod: "p high veryLarge never", pods: list{"p1.1@node1 low small", "p1.2@node1 low small", "p2.1@node2 high large", "p3.1@node3 mid medium"}, allowed: -1},
	}
}

// bestCases are those of TestSelectBestCandidate: which node is chosen.
func bestCases() []preemptionCase {
	type list = []string
	return []preemptionCase{
		{name: "best: either of two", pod: "p high large", pods: list{"p1@node1 mid large", "p2@node2 mid large"}, want: list{"node1: p1", "node2: p2"}},
		{name: "best: the lowest highest priority", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium", "p1.2@node1 mid large", "p2.1@node2 mid medium", "p2.2@node2 low medium", "p3.1@node3 low medium", "p3.2@node3 low medium"}, best: "node3"},
		{name: "best: then the lowest sum", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium", "p1.2@node1 mid large", "p2.1@node2 mid large", "p2.2@node2 low medium", "p3.1@node3 mid medium", "p3.2@node3 mid medium"}, best: "node2"},
		{name: "best: then the fewest pods", pod: "p high veryLarge", pods: list{"p1.1@node1 mid small", "p1.2@node1 neg small", "p1.3@node1 mid small", "p1.4@node1 neg small", "p2.1@node2 mid large", "p2.2@node2 neg medium", "p3.1@node3 mid medium", "p3.2@node3 neg small", "p3.3@node3 low small"}, best: "node2"},
		{name: "best: few pods of a negative priority", pod: "p high veryLarge", pods: list{"p1.1@node1 mid small", "p1.2@node1 neg small", "p1.3@node1 neg small", "p2.1@node2 mid large", "p2.2@node2 neg medium", "p3.1@node3 mid medium", "p3.2@node3 neg small", "p3.3@node3 low small"}, best: "node2"},
		{name: "best: highest priority, then sum, then count", pod: "p veryHigh veryLarge", pods: list{
			"p1.1@node1 mid small", "p1.2@node1 low small", "p1.3@node1 low small", "p2.1@node2 high large",
			"p3.1@node3 mid medium", "p3.2@node3 low small", "p3.3@node3 low small", "p3.4@node3 low medium",
			"p4.1@node4 mid medium", "p4.2@node4 mid small", "p4.3@node4 mid small", "p4.4@node4 neg small",
		}, best: "node1"},
		{name: "best: the latest start", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium t2", "p1.2@node1 mid medium t2", "p2.1@node2 mid medium t3", "p2.2@node2 mid medium t3", "p3.1@node3 mid medium t1", "p3.2@node3 mid medium t1"}, best: "node2"},
		{name: "best: the latest of the earliest starts", pod: "p high veryLarge", pods: list{"p1.1@node1 mid medium t4", "p1.2@node1 mid medium t2", "p2.1@node2 mid medium t5", "p2.2@node2 mid medium t1", "p3.1@node3 mid medium t3", "p3.2@node3 mid medium t6"}, best: "node3"},
		{name: "best: the latest start of the highest priority", pod: "p high veryLarge", pods: list{"p1.1@node1 low medium t4", "p1.2@node1 mid medium t2", "p2.1@node2 mid medium t6", "p2.2@node2 low medium t1", "p3.1@node3 low medium t3", "p3.2@node3 mid medium t5"}, best: "node2"},
	}
}

// TestUpstream_defaultPreemption checks which pods must go for another one.
func TestUpstream_defaultPreemption(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	tests := append(preemptionCases(), bestCases()...)
	for i := range tests {
		tt := &tests[i]
		if strings.HasPrefix(tt.name, "best: ") {
			tt.allowed = -1
		}
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
	for _, tt := range eligibleCases() {
		rows.Run(t, tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t)
		})
	}
}

// eligibleCase is a pod that waits with a nominated node, and the one that it preempts on another node, "" where it preempts none.
type eligibleCase struct {
	preemptionCase
	// tainted is set where its nominated node does not take it any more.
	tainted bool
	victim  string
}

// eligibleCases are those of TestPodEligibleToPreemptOthers with a nominated node: whether a pod preempts others while a pod
// terminates there.
func eligibleCases() []eligibleCase {
	one := func(name, state string) preemptionCase {
		return preemptionCase{name: name, pod: "p high veryLarge nominated:node1", pods: []string{"p1@node1 low veryLarge " + state, "p2@node2 low veryLarge"}, allowed: -1}
	}
	return []eligibleCase{
		{preemptionCase: one("eligible: its nominated node does not take it any more", "terminating"), tainted: true, victim: "p2"},
		{preemptionCase: one("eligible: its victim terminates", "victim")},
	}
}

func (c *eligibleCase) run(t *testing.T) {
	t.Helper()
	w := c.world()
	if c.tainted {
		w.Nodes["node1"].Taints = taintsOf("a:NoSchedule")
	}
	w.Waiting = []*snapshot.Pod{fromAPI(c.read(c.pod))}
	s := newSimulation(New(w.Snapshot, Scenario{}, false), nil)
	for order := range Orders {
		s.run(1, order)
		got := ""
		for _, p := range s.preempted {
			got += p.Name
		}
		if got != c.victim {
			t.Errorf("order %d: it preempts %q, want %q", order, got, c.victim)
		}
	}
}
