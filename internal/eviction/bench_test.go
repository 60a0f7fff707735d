// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package eviction

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// big is a cluster of 5,000 nodes with 30 pods on each of the first 500 and as
// many elsewhere as are asked for. Six of the thirty belong to DaemonSets and
// are pinned to their nodes; the others to 2,000 Deployments of 100 namespaces. A
// tenth of these select nodes that are not there, a twentieth asks for more memory
// than any node has, and one in forty has a volume on its node. Each Deployment has a
// scheduling of its own, though a snapshot of a cluster shares equal ones: searches that
// could be shared are made again for each.
func big(elsewhere int) (*snapshot.Snapshot, Scenario) {
	const nodes, changed, perNode, daemons = 5000, 500, 30, 6
	w := newWorld()
	name := func(i int) string { return fmt.Sprintf("node-%04d", i) }
	w.Volumes = map[string]map[string]*snapshot.Volume{}
	for i := range nodes {
		w.Nodes[name(i)] = &snapshot.Node{
			Allocatable: &snapshot.Resources{MilliCPU: 15_890, Memory: 60 << 30, EphemeralStorage: 90 << 30, Pods: 110},
			Name:        name(i), Labels: map[string]string{"kubernetes.io/hostname": name(i), "zone": fmt.Sprintf("z%d", i%3), "pool": fmt.Sprintf("p%d", i%10)},
		}
	}
	usual := []corev1.Toleration{
		lasting(exists("node.kubernetes.io/not-ready", noEx), 300),
		lasting(exists("node.kubernetes.io/unreachable", noEx), 300),
	}
	shared := make([]*snapshot.Pod, 2000)
	for i := range shared {
		rs := types.UID(fmt.Sprintf("rs-%d", i))
		s := &snapshot.Scheduling{Tolerations: usual}
		switch i % 10 {
		case 0:
			s.NodeSelector = map[string]string{"pool": "nowhere"}
		case 1, 2:
			s.NodeSelector = map[string]string{"pool": "p7"}
		case 3:
			s.Tolerations = append([]corev1.Toleration{lasting(exists("dedicated", noEx), int64(i))}, usual...)
		}
		d := &snapshot.Demand{Asks: snapshot.Resources{MilliCPU: int64(100 + i%7*50), Memory: int64(128+i%11*64) << 20}, Priority: int32(i % 3 * 1000)}
		if i%20 == 4 {
			d.Asks.Memory = 61 << 30
		}
		d.Holds = snapshot.Resources{MilliCPU: d.Asks.MilliCPU, Memory: 1 << 30}
		shared[i] = &snapshot.Pod{
			Namespace: fmt.Sprintf("team-%d", i%100), Scheduling: s, Demand: d, Labels: labels.Set{"app": fmt.Sprintf("app-%d", i)},
			Controller: &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "ReplicaSet", Name: string(rs)}, UID: rs},
		}
		w.Parents[rs] = snapshot.Owner{Group: "apps", Kind: "Deployment", Name: fmt.Sprintf("app-%d", i)}
		if i%4 == 0 {
			w.budget(shared[i].Namespace, fmt.Sprintf("app-%d", i), fmt.Sprintf("app=app-%d", i), 1)
		}
	}
	daemon := &snapshot.Controller{Owner: snapshot.Owner{Group: "apps", Kind: "DaemonSet", Name: "agent"}, UID: "agent"}
	add := func(i, node int) {
		p := *shared[i%len(shared)]
		p.Name, p.Node = fmt.Sprintf("pod-%06d", i), name(node)
		if i%perNode < daemons {
			p.Controller, p.Scheduling = daemon, &snapshot.Scheduling{Tolerations: usual}
			pinned(p.Node)(&p)
		} else if i%40 == 6 && node < changed {
			p.Claims = []string{"data-" + p.Name}
			if w.Volumes[p.Namespace] == nil {
				w.Volumes[p.Namespace] = map[string]*snapshot.Volume{}
			}
			w.Volumes[p.Namespace][p.Claims[0]] = &snapshot.Volume{Name: "pv-" + p.Name, Affinity: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{expression("kubernetes.io/hostname", "In", p.Node)}}}
		}
		w.run(&p)
	}
	for i := range changed * perNode {
		add(i, i/perNode)
	}
	for i := range elsewhere {
		add(i, changed+i%(nodes-changed))
	}
	change := Scenario{Taints: map[string][]corev1.Taint{}}
	for i := range changed {
		change.Taints[name(i)] = taintsOf("dedicated=gpu:NoExecute")
	}
	return w.Snapshot, change
}

func benchmarkEvaluate(b *testing.B, elsewhere int) {
	b.Helper()
	snapshot, change := big(elsewhere)
	b.ReportAllocs()
	for b.Loop() {
		if r := Evaluate(snapshot, change, ComparisonUnknown); len(r.Pods) != 15_000 {
			b.Fatalf("%d verdicts", len(r.Pods))
		}
	}
}

// BenchmarkEvaluate is a taint on 500 of 5,000 nodes with 150,000 pods in all.
func BenchmarkEvaluate(b *testing.B) { benchmarkEvaluate(b, 135_000) }

// BenchmarkEvaluate_fewPodsElsewhere differs only in the pods that the change
// does not concern.
func BenchmarkEvaluate_fewPodsElsewhere(b *testing.B) { benchmarkEvaluate(b, 15_000) }

// BenchmarkOutcome places the replacements of these pods in all orders.
func BenchmarkOutcome(b *testing.B) {
	snapshot, change := big(135_000)
	b.ReportAllocs()
	for b.Loop() {
		if out := Evaluate(snapshot, change, ComparisonUnknown).Outcome(); out.Placed.Max+out.Missing.Max < 10_000 {
			b.Fatalf("%d are placed, %d Pending", out.Placed.Max, out.Missing.Max)
		}
	}
}

// Not parallel: other tests' allocations would count.
func TestEvaluate_costsNothingForPodsElsewhere(t *testing.T) { //nolint:paralleltest // AllocsPerRun counts the whole process.
	allocations := func(elsewhere int) float64 {
		snapshot, change := big(elsewhere)
		return testing.AllocsPerRun(3, func() { Evaluate(snapshot, change, ComparisonUnknown) })
	}
	few, many := allocations(1_000), allocations(8_000)
	if many > few*1.02+10 {
		t.Errorf("%.0f allocations with 1,000 pods elsewhere, %.0f with 8,000", few, many)
	}
}

// slowRollout pins 200 pods, one at a time, to a pool of 100 of 500 nodes with so many free cores: each pod asks for one.
// Some of them run on the pool already.
func slowRollout(free, onPool int, rules *snapshot.PodRules) (*snapshot.Snapshot, []Rollout) {
	const nodes, pods, pool = 500, 200, 100
	w, r, s, d := newWorld(), rolloutOf(1, 0), &snapshot.Scheduling{}, pod("any", "", asking(1, 1)).Demand
	app := labels.Set{"app": "slow"}
	for i := range nodes {
		n := having(node(fmt.Sprintf("node-%03d", i)), 32, 32)
		w.Nodes[n.Name] = labelled(n, "kubernetes.io/hostname", n.Name)
		if i < pool {
			n.Labels["pool"] = "gpu"
			used := (onPool + i) / pool
			w.run(pod(fmt.Sprintf("agent-%d", i), n.Name, asking(int64(32-used-(free+i)/pool), 1), ownedBy("DaemonSet", "agent")))
		}
	}
	for i := range pods {
		at := pool + i
		if i < onPool {
			at = pool - 1 - i%pool
		}
		p := pod(fmt.Sprintf("web-%d", i), fmt.Sprintf("node-%03d", at))
		p.Scheduling, p.Demand, p.Rules, p.Labels = s, d, rules, app
		r.Pods = append(r.Pods, p)
	}
	w.run(r.Pods...)
	return w.Snapshot, []Rollout{r}
}

// BenchmarkRoll follows rollouts that do not come to their end.
func BenchmarkRoll(b *testing.B) {
	spread := &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: "kubernetes.io/hostname", Selector: labels.SelectorFromSet(labels.Set{"app": "slow"})}}}
	ports := &snapshot.PodRules{Ports: []snapshot.HostPort{{Port: 80, Protocol: "TCP"}}}
	for name, tt := range map[string]struct {
		free, onPool int
		rules        *snapshot.PodRules
	}{
		"no room at all": {}, "room for some": {free: 40}, "room for most": {free: 150}, "half are on the pool": {free: 40, onPool: 100}, "all are on the pool": {onPool: 200}, "one place is free": {free: 1, onPool: 200}, "room for all": {free: 200}, "spread, room for most": {free: 150, rules: spread}, "spread, half are on the pool": {free: 40, onPool: 100, rules: spread}, "ports": {free: 150, rules: ports},
	} {
		b.Run(name, func(b *testing.B) {
			s, rollouts := slowRollout(tt.free, tt.onPool, tt.rules)
			var missing Range
			for b.Loop() {
				_, missing, _ = Roll(s, rollouts, ComparisonOff)
			}
			b.Logf("%v are missing", missing)
		})
	}
}
