// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// big is a cluster of 5,000 nodes with 30 pods each. All pods of the first so many nodes are
// evicted. They belong to 2,000 Deployments of three priorities: a tenth selects nodes that are
// not there, a tenth has a pool of its own, a twentieth asks for more memory than any node has.
func big(changed int) (*snapshot.Snapshot, Scenario, []Eviction) {
	const nodes, perNode, deployments = 5000, 30, 2000
	w := newWorld()
	name := func(i int) string { return fmt.Sprintf("node-%04d", i) }
	for i := range nodes {
		w.Nodes[name(i)] = &snapshot.Node{
			Name: name(i), Labels: map[string]string{corev1.LabelHostname: name(i), "zone": fmt.Sprintf("z%d", i%3), "pool": fmt.Sprintf("p%d", i%10)},
			Allocatable: &snapshot.Resources{MilliCPU: 15_890, Memory: 60 << 30, EphemeralStorage: 90 << 30, Pods: 110},
		}
	}
	var shared [deployments]*snapshot.Pod
	for i := range shared {
		s := &snapshot.Scheduling{Tolerations: []corev1.Toleration{exists("node.kubernetes.io/not-ready", corev1.TaintEffectNoExecute)}}
		switch i % 10 {
		case 0:
			s.NodeSelector = map[string]string{"pool": "nowhere"}
		case 1:
			s.NodeSelector = map[string]string{"pool": "p7"}
		}
		d := &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: int64(100 + i%7*50), Memory: int64(128+i%11*64) << 20}, Priority: int32(i % 3 * 1000)}
		d.ScoredMilliCPU, d.ScoredMemory, d.Holds = d.Asks.MilliCPU, d.Asks.Memory, d.Asks
		if i%20 == 4 {
			d.Asks.Memory = 61 << 30
		}
		rs := types.UID(fmt.Sprintf("rs-%d", i))
		shared[i] = &snapshot.Pod{
			Namespace: fmt.Sprintf("team-%d", i%100), Scheduling: s, Demand: d, Labels: labels.Set{"app": fmt.Sprintf("app-%d", i)},
			Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: string(rs)}, UID: rs},
		}
	}
	var evicted []Eviction
	change := Scenario{Taints: map[string][]corev1.Taint{}}
	for i := range nodes * perNode {
		p := *shared[i*7%deployments]
		p.Name, p.Node = fmt.Sprintf("pod-%06d", i), name(i/perNode)
		w.run(&p)
		if i < changed*perNode {
			change.Taints[p.Node] = taintsOf("dedicated=gpu:NoExecute")
			evicted = append(evicted, Eviction{Pod: &p, Scheduling: p.Scheduling})
		}
	}
	change.Leaving = func(node string) func(*snapshot.Pod) bool {
		if _, tainted := change.Taints[node]; !tainted {
			return nil
		}
		return func(*snapshot.Pod) bool { return true }
	}
	return w.Snapshot, change, evicted
}

// benchmarkSimulate fails where a simulation takes longer than it may on two cores.
func benchmarkSimulate(b *testing.B, changed, orders int, most time.Duration) {
	b.Helper()
	s, change, evicted := big(changed)
	b.ReportAllocs()
	for b.Loop() {
		if out := newSimulation(New(s, change, false), evicted).try(orders, 1); out.Orders != orders {
			b.Fatalf("%d orders", out.Orders)
		}
	}
	if took := b.Elapsed() / time.Duration(b.N); took > most {
		b.Errorf("one simulation takes %v, want %v at most", took, most)
	}
}

// BenchmarkSimulate_certain proves that one order is enough for a taint on 250 of 5,000 nodes.
func BenchmarkSimulate_certain(b *testing.B) {
	s, change, evicted := big(250)
	b.ReportAllocs()
	for b.Loop() {
		if one := newSimulation(New(s, change, false), evicted); one.enough(Orders) != 1 {
			b.Fatal("nothing is proved")
		}
	}
}

// BenchmarkSimulate is a taint on 500 of 5,000 nodes with 150,000 pods, in one order and in all.
func BenchmarkSimulate(b *testing.B) {
	b.Run("one", func(b *testing.B) { benchmarkSimulate(b, 500, 1, time.Second) })
	b.Run("all", func(b *testing.B) { benchmarkSimulate(b, 500, Orders, 10*time.Second) })
}

// BenchmarkSimulate_related is the same where a tenth of the Deployments spread over zones, a tenth
// keeps apart on hosts and a tenth follows itself into a zone.
func BenchmarkSimulate_related(b *testing.B) { benchmarkRelated(b, relate) }

// BenchmarkSimulate_preferences is the same where all Deployments prefer to keep apart on hosts, and to spread over zones.
func BenchmarkSimulate_preferences(b *testing.B) {
	benchmarkRelated(b, func(_ int, own labels.Set) *snapshot.PodRules {
		selector := labels.SelectorFromSet(own)
		return &snapshot.PodRules{
			Preferred:  []snapshot.WeightedTerm{{PodTerm: snapshot.PodTerm{TopologyKey: corev1.LabelHostname, Selector: selector, OwnNamespace: true}, Weight: -100}},
			SoftSpread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: "zone", Selector: selector, HonorAffinity: true}},
		}
	})
}

func benchmarkRelated(b *testing.B, relate func(kind int, own labels.Set) *snapshot.PodRules) {
	b.Helper()
	s, change, evicted := big(500)
	rules := map[string]*snapshot.PodRules{}
	for _, pods := range s.Pods {
		for _, p := range pods {
			name := p.Controller.Name
			if _, known := rules[name]; !known {
				rules[name] = relate(len(rules)%10, p.Labels)
			}
			p.Rules = rules[name]
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		New(s, change, false).Simulate(evicted, 1, 1)
	}
}

func relate(kind int, own labels.Set) *snapshot.PodRules {
	term := func(key string) []snapshot.PodTerm {
		return []snapshot.PodTerm{{TopologyKey: key, Selector: labels.SelectorFromSet(own), OwnNamespace: true}}
	}
	switch kind {
	case 0:
		return &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: "zone", Selector: labels.SelectorFromSet(own), HonorAffinity: true}}}
	case 1:
		return &snapshot.PodRules{AntiAffinity: term(corev1.LabelHostname)}
	case 2:
		return &snapshot.PodRules{Affinity: term("zone")}
	default:
		return nil
	}
}

// BenchmarkSimulate_crowded is the same where nodes are nearly full: many pods stay Pending or
// preempt others.
func BenchmarkSimulate_crowded(b *testing.B) {
	s, change, evicted := big(500)
	for _, n := range s.Nodes {
		n.Allocatable.MilliCPU = 300
		for _, p := range s.Pods[n.Name] {
			n.Allocatable.MilliCPU += p.Demand.Holds.MilliCPU
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		out := New(s, change, false).Simulate(evicted, 1, 1)
		b.ReportMetric(float64(out.Pending.Min), "pending")
		b.ReportMetric(float64(out.Preempted.Min), "preempted")
	}
}

// BenchmarkSimulate_later is the same where a tenth of the pods are created after their grace periods, of ten lengths.
func BenchmarkSimulate_later(b *testing.B) {
	s, change, evicted := big(500)
	for i := range evicted {
		if i%10 == 0 {
			evicted[i].Wait = 30 << (i / 10 % 10)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		newSimulation(New(s, change, false), evicted).try(Orders, 1)
	}
}

// BenchmarkSimulate_softTaints is a taint on 500 of 5,000 nodes, of which every other one has a taint that pods
// only prefer to avoid.
func BenchmarkSimulate_softTaints(b *testing.B) {
	s, change, evicted := big(500)
	for i, n := range s.SortedNodes() {
		if i%2 == 0 {
			n.Taints = append(n.Taints, taintsOf("soft:PreferNoSchedule")...)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		New(s, change, false).Simulate(evicted, 1, 1)
	}
}

// BenchmarkSimulate_oneNode is a taint on one of 5,000 nodes: a five-hundredth of the pods, in a tenth of the time at most. What
// all nodes hold is counted for it, too.
func BenchmarkSimulate_oneNode(b *testing.B) { benchmarkSimulate(b, 1, Orders, time.Second) }

// BenchmarkSimulate_rollout replaces 500 machines one after the other.
func BenchmarkSimulate_rollout(b *testing.B) {
	s, change, evicted := big(500)
	change.Turns, change.Drained = map[string]int{}, map[string]bool{}
	for i := range evicted {
		name := evicted[i].Pod.Node
		if !change.Drained[name] {
			change.Turns[name], change.Drained[name] = len(change.Drained), true
		}
		evicted[i].After = TurnBegins(change.Turns[name])
	}
	change.Closed, change.Deleted, change.Taints = change.Drained, change.Drained, nil
	comes := *s.Nodes["node-0000"]
	change.Comes = []Coming{{Node: &comes, Like: "node-0000", Of: "MachineSet", Count: 500, Each: 1}}
	b.ReportAllocs()
	for b.Loop() {
		out := newSimulation(New(s, change, false), evicted).try(Orders, 1)
		b.ReportMetric(float64(out.Orders), "orders")
	}
}

// BenchmarkSimulate_newMachines is the same where 500 nodes come in their place, which alone take the pods.
func BenchmarkSimulate_newMachines(b *testing.B) {
	s, change, evicted := big(500)
	for i := range evicted {
		own := *evicted[i].Scheduling
		own.NodeSelector = map[string]string{"pool": "new"}
		evicted[i].Scheduling = &own
	}
	comes := *s.Nodes["node-0000"]
	comes.Labels = map[string]string{"pool": "new"}
	change.Comes = []Coming{{Node: &comes, Like: "node-0000", Of: "MachineSet", Count: 500}}
	b.ReportAllocs()
	for b.Loop() {
		out := newSimulation(New(s, change, false), evicted).try(Orders, 1)
		b.ReportMetric(float64(out.Arriving.Min), "arriving")
	}
}
