// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// leavingEvicted lets the pods of an evicted list leave the changed nodes, as package eviction does.
func (c *randomCluster) leavingEvicted() Scenario {
	change := c.change
	change.Leaving = func(name string) func(*snapshot.Pod) bool {
		if _, tainted := change.Taints[name]; !tainted {
			return nil
		}
		return func(p *snapshot.Pod) bool {
			return slices.ContainsFunc(c.evicted, func(e Eviction) bool { return e.Pod == p })
		}
	}
	return change
}

// drawRoomy draws a cluster with so much more room that every pod often finds a node in each order.
func drawRoomy(t *rapid.T) randomCluster {
	c := drawCluster(t, rapid.IntRange(0, 3).Draw(t, "related") == 0, rapid.Bool().Draw(t, "priorities"))
	times := rapid.Int64Range(1, 5).Draw(t, "times")
	for _, n := range c.Nodes {
		n.Allocatable.MilliCPU *= times
		n.Allocatable.Memory *= times
		n.Allocatable.Pods *= times
	}
	if rapid.Bool().Draw(t, "pools") {
		for _, p := range c.Waiting {
			p.Scheduling.NodeSelector = map[string]string{"zone": "z1"}
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "quotas") == 0 {
		hard := rapid.Int64Range(0, 30).Draw(t, "hard")
		c.Quotas = map[string][]snapshot.Quota{"app": {quota("q", nil, of("pods", hard, rapid.Int64Range(0, 15).Draw(t, "used")))}}
	}
	return c
}

// The outcome is that of all orders, also if some are left out.
func TestSimulate_leavesOutOnlyOrdersThatComeToTheSame(t *testing.T) {
	t.Parallel()
	var left atomic.Int64
	rapid.Check(t, func(t *rapid.T) {
		c := drawRoomy(t)
		change := c.leavingEvicted()
		finder := func() *Finder { return New(c.Snapshot, change, false) }
		if enough := newSimulation(finder(), c.evicted).enough(Orders); enough == Orders {
			return
		}
		left.Add(1)
		few, all := finder().Simulate(c.evicted, Orders, 29), newSimulation(finder(), c.evicted).try(Orders, 29)
		if diff := cmp.Diff(all, few, cmpopts.IgnoreUnexported(Outcome{}), cmpopts.IgnoreFields(Outcome{}, "Certain")); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range c.evicted {
			if diff := cmp.Diff(all.Of(e.Pod), few.Of(e.Pod), cmp.AllowUnexported(Group{}), cmpopts.IgnoreFields(Group{}, "placed")); diff != "" {
				t.Fatal(e.Pod.Name, diff)
			}
		}
	})
	if left.Load() == 0 {
		t.Error("no cluster leaves orders out")
	}
}

// Two small pods close a node to a large one. The proof sees each crowd that closes all nodes, and every crowd that has
// no more pods than there are nodes pass.
func TestCertain_rivalsThatCloseAllNodesAreSeen(t *testing.T) {
	t.Parallel()
	for nodes := 1; nodes <= 4; nodes++ {
		for rivals := range 14 {
			w := newWorld(having(node("old"), 99, 99))
			w.Nodes["old"].Allocatable.Pods = 110
			for _, n := range many(nodes, "n", func(name string) *snapshot.Node { return having(node(name), 4, 99) }) {
				w.Nodes[n.Name] = n
			}
			var evicted []Eviction
			pods := append(replicas("small", "old", rivals, asking(1, 0), ownedBy("ReplicaSet", "small")), pod("large", "old", asking(3, 0), ownedBy("ReplicaSet", "large")))
			for _, p := range w.run(pods...).Pods["old"] {
				evicted = append(evicted, Eviction{Pod: p, Scheduling: p.Scheduling})
			}
			s := newSimulation(New(w.Snapshot, tainting("old", "gone:NoExecute"), false), evicted)
			if proved := s.enough(Orders) == 1; proved && rivals >= 2*nodes || !proved && rivals <= nodes {
				t.Errorf("%d nodes and %d rivals: proved %t", nodes, rivals, proved)
			}
		}
	}
}

// The outcome is the same whether or not those are placed that other changes of the run evict.
func TestCertain_placesNoPodsOfOtherChanges(t *testing.T) {
	t.Parallel()
	shortened := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(having(node("old"), 99, 99))
		w.Nodes["old"].Allocatable.Pods = 110
		for _, n := range many(rapid.IntRange(1, 3).Draw(t, "nodes"), "n", func(name string) *snapshot.Node { return having(node(name), 8, 99) }) {
			w.Nodes[n.Name] = n
		}
		var evicted []Eviction
		for _, name := range []string{"a", "b"} {
			options := []podOption{asking(rapid.Int64Range(0, 3).Draw(t, "cpu "+name), 0), ownedBy("ReplicaSet", name)}
			for i, p := range replicas(name, "old", rapid.IntRange(1, 4).Draw(t, name), options...) {
				w.run(p)
				evicted = append(evicted, Eviction{Pod: p, Scheduling: p.Scheduling, Elsewhere: i > 0 || rapid.Bool().Draw(t, "elsewhere "+name)})
			}
		}
		if rapid.Bool().Draw(t, "waits") {
			w.Waiting = append(w.Waiting, other("waits", "", asking(1, 1)))
		}
		slices.SortFunc(evicted, func(a, b Eviction) int { return a.Pod.Compare(b.Pod) })
		f := New(w.Snapshot, tainting("old", "gone:NoExecute"), false)
		s := newSimulation(f, evicted)
		enough := s.enough(Orders)
		want := s.try(min(enough, s.share(Orders)), 1)
		if enough == 1 && s.allFit && s.elsewhere() > 0 {
			shortened++
		}
		got := f.Simulate(evicted, Orders, 1)
		of := func(o *Outcome) any {
			return []any{o.Workloads, o.Placed, o.Missing, o.Staying, o.Again, o.Preempted, o.Others.Replacements, o.Others.Missing, o.Others.All, o.Certain}
		}
		if diff := cmp.Diff(of(want), of(got), cmp.AllowUnexported(WorkloadOutcome{})); diff != "" {
			t.Fatal(diff)
		}
	})
	if shortened == 0 {
		t.Error("pods of others were placed in each case")
	}
}

func TestCertain(t *testing.T) {
	t.Parallel()
	cluster := func(options ...podOption) (world, []Eviction) {
		w := newWorld(having(node("old"), 9, 9))
		for _, n := range many(4, "n", func(name string) *snapshot.Node { return having(node(name), 9, 9) }) {
			w.Nodes[n.Name] = n
		}
		var evicted []Eviction
		for _, p := range w.run(replicas("web", "old", 3, append([]podOption{asking(1, 1), ownedBy("ReplicaSet", "web")}, options...)...)...).Pods["old"] {
			evicted = append(evicted, Eviction{Pod: p, Scheduling: p.Scheduling})
		}
		return w, evicted
	}
	waiting := func(w world, options ...podOption) { w.Waiting = append(w.Waiting, other("waits", "", options...)) }
	cases := map[string]struct {
		pods   []podOption
		change func(w world, evicted []Eviction) []Eviction
		want   int
	}{
		"pods with room on every node":                  {want: 1},
		"pods that ask for nothing":                     {pods: []podOption{asking(0, 0)}, want: 1},
		"pods of a higher priority, which preempt none": {pods: []podOption{priority(9)}, want: 1},
		"pods that no node takes":                       {pods: []podOption{selecting("pool", "none")}, want: 1},
		"pods that are larger than any node":            {pods: []podOption{asking(99, 1)}, want: 1},
		"pods that keep apart":                          {pods: []podOption{ruled(&snapshot.PodRules{AntiAffinity: []snapshot.PodTerm{{TopologyKey: corev1.LabelHostname, Selector: labels.SelectorFromSet(labels.Set{"app": "web"}), OwnNamespace: true}}})}, want: Orders},
		"pods with a host port":                         {pods: []podOption{ruled(&snapshot.PodRules{Ports: []snapshot.HostPort{{Protocol: corev1.ProtocolTCP, Port: 80}}})}, want: Orders},
		"pods that are evicted one after the other":     {change: func(_ world, e []Eviction) []Eviction { e[1].After = 300; return e }, want: 1},
		"pods whose eviction is not certain":            {change: func(_ world, e []Eviction) []Eviction { e[1].Unsure = true; return e }, want: 2},
		"a node that does not report what it has": {change: func(w world, e []Eviction) []Eviction {
			w.Nodes["n-1"].Allocatable = nil
			w.Nodes["n-0"].Allocatable.Pods = 0
			return e
		}, want: 1},
		"pods for which a full cluster has no place":  {change: func(w world, e []Eviction) []Eviction { closeAll(w, 1); return e }, want: Orders},
		"a Pending pod that fits":                     {change: func(w world, e []Eviction) []Eviction { waiting(w, asking(1, 1)); return e }, want: 1},
		"a Pending pod that never fits takes no room": {change: func(w world, e []Eviction) []Eviction { waiting(w, asking(99, 1)); return e }, want: 1},
		"a Pending pod that takes the room of a node": {change: func(w world, e []Eviction) []Eviction { waiting(w, asking(9, 9)); return e }, want: Orders},
		"a Pending pod that any node takes, and few the others": {change: func(w world, e []Eviction) []Eviction {
			w.Nodes["n-1"].Labels["pool"] = "a"
			e[0].Scheduling.NodeSelector = map[string]string{"pool": "a"}
			waiting(w, asking(9, 1))
			return e
		}, want: Orders},
		"a Pending pod that none of the nodes takes that take the others": {change: func(w world, e []Eviction) []Eviction {
			w.Nodes["n-1"].Labels["pool"] = "a"
			for i := range e {
				e[i].Scheduling.NodeSelector = map[string]string{"pool": "a"}
			}
			w.Nodes["n-2"].Labels["pool"] = "b"
			waiting(w, asking(9, 1), selecting("pool", "b"))
			return e
		}, want: 1},
		"a quota that requires limits, which the pods do not set": {change: func(w world, e []Eviction) []Eviction {
			w.LimitRanges = map[string][]snapshot.LimitRange{}
			w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("limits.cpu", 99_000, 0))}}
			e[0].Pod.Demand.Template = &corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}
			return e
		}, want: Orders},
		"a node that evicts the pods again": {change: func(w world, e []Eviction) []Eviction {
			w.Nodes["n-1"].Taints = taintsOf("leaving:NoExecute")
			for i := range e {
				e[i].Scheduling.Tolerations = []corev1.Toleration{{Key: "leaving", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: new(int64(4))}}
			}
			return e
		}, want: Orders},
		"a Pending pod with a nominated node": {change: func(w world, e []Eviction) []Eviction {
			waiting(w, asking(1, 1))
			w.Waiting[0].Nominated = "n-1"
			return e
		}, want: Orders},
		"a quota with room for all": {change: func(w world, e []Eviction) []Eviction { return quotaOf(w, e, 3) }, want: 1},
		"a quota that refuses some": {change: func(w world, e []Eviction) []Eviction { return quotaOf(w, e, 2) }, want: Orders},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, evicted := cluster(tt.pods...)
			if tt.change != nil {
				evicted = tt.change(w, evicted)
			}
			change := tainting("old", "gone:NoExecute")
			if got := newSimulation(New(w.Snapshot, change, false), evicted).enough(Orders); got != tt.want {
				t.Errorf("%d orders are enough, want %d", got, tt.want)
			}
			if out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1); out.Orders != Orders || out.Wanted != Orders {
				t.Errorf("%d of %d orders count as tried", out.Orders, out.Wanted)
			}
		})
	}
}

func quotaOf(w world, evicted []Eviction, pods int64) []Eviction {
	w.Quotas = snapshot.Quotas{"app": {quota("q", nil, of("pods", pods, 3))}}
	return evicted
}

// closeAll leaves so many nodes room for one pod, and the others none.
func closeAll(w world, places int) {
	for i := range 4 {
		w.Nodes[fmt.Sprintf("n-%d", i)].Allocatable.Pods = int64(min(max(places+1-i, 0), 1))
	}
}
