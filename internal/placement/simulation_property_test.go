// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"pgregory.net/rapid"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// randomCluster has a few nodes and workloads. The pods of some nodes are evicted, immediately or
// later. Rules relate workloads to each other where they are asked for.
type randomCluster struct {
	world
	change  Scenario
	evicted []Eviction
}

func drawRules(t *rapid.T) *snapshot.PodRules {
	key := rapid.SampledFrom([]string{"zone", corev1.LabelHostname}).Draw(t, "topology")
	selector := labels.SelectorFromSet(labels.Set{"app": rapid.SampledFrom([]string{"w0", "w1", "w2"}).Draw(t, "selected")})
	term := []snapshot.PodTerm{{TopologyKey: key, Selector: selector, OwnNamespace: true}}
	switch rapid.IntRange(0, 8).Draw(t, "rule") {
	case 0:
		return &snapshot.PodRules{Affinity: term}
	case 1, 2:
		return &snapshot.PodRules{AntiAffinity: term}
	case 3, 4:
		return &snapshot.PodRules{Spread: []snapshot.SpreadConstraint{{
			MaxSkew: 1, MinDomains: rapid.Int32Range(1, 3).Draw(t, "domains"), TopologyKey: key, Selector: selector, HonorTaints: rapid.Bool().Draw(t, "honor"),
		}}}
	case 5:
		return &snapshot.PodRules{Preferred: []snapshot.WeightedTerm{{PodTerm: term[0], Weight: rapid.SampledFrom([]int32{-5, 5}).Draw(t, "weight")}}}
	case 6:
		return &snapshot.PodRules{SoftSpread: []snapshot.SpreadConstraint{{MaxSkew: 1, MinDomains: 1, TopologyKey: key, Selector: selector}}}
	case 7:
		return &snapshot.PodRules{Ports: []snapshot.HostPort{{IP: "0.0.0.0", Protocol: corev1.ProtocolTCP, Port: 80}}}
	default:
		return nil
	}
}

// drawCluster draws a cluster; related is set where pods have rules.
func drawCluster(t *rapid.T, related, priorities bool) randomCluster {
	c := randomCluster{world: newWorld(), change: Scenario{Taints: map[string][]corev1.Taint{}}}
	nodes := rapid.IntRange(2, 6).Draw(t, "nodes")
	for i := range nodes {
		n := labelled(having(node(fmt.Sprintf("n%d", i)), rapid.Int64Range(1, 8).Draw(t, "cores"), rapid.Int64Range(1, 8).Draw(t, "gi")), "zone", fmt.Sprintf("z%d", i%2))
		n.Allocatable.Pods = rapid.Int64Range(1, 6).Draw(t, "pods")
		n.Unschedulable = rapid.IntRange(0, 9).Draw(t, "cordon") == 0
		c.Nodes[n.Name] = n
	}
	var alike *snapshot.Scheduling
	for w := range 3 {
		name := fmt.Sprintf("w%d", w)
		options := []podOption{asking(rapid.Int64Range(0, 3).Draw(t, "asks"), rapid.Int64Range(0, 3).Draw(t, "memory")), labelledAs("app", name)}
		if priorities {
			options = append(options, priority(rapid.Int32Range(0, 2).Draw(t, "priority")))
			if rapid.IntRange(0, 4).Draw(t, "patient") == 0 {
				options = append(options, patient)
			}
		}
		if related {
			options = append(options, ruled(drawRules(t)))
			if rapid.IntRange(0, 2).Draw(t, "namespace") == 0 {
				options = append(options, inNamespace("other"), labelledAs("app", "w0"))
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "prefers") == 0 {
			zone := expression("zone", corev1.NodeSelectorOpIn, rapid.SampledFrom([]string{"z0", "z1"}).Draw(t, "preferred"))
			options = append(options, preferring(corev1.PreferredSchedulingTerm{Weight: 1, Preference: zone}))
		}
		kind := rapid.SampledFrom([]string{"ReplicaSet", "StatefulSet"}).Draw(t, "kind")
		pods := replicas(name, "", rapid.IntRange(0, 5).Draw(t, "replicas"), append(options, ownedBy(kind, name))...)
		// Pods of several workloads differ in what they ask for alone, as in a snapshot.
		if len(pods) > 0 && rapid.Bool().Draw(t, "shares") {
			if alike == nil {
				alike = pods[0].Scheduling
			}
			for _, p := range pods {
				p.Scheduling = alike
			}
		}
		for _, p := range pods {
			c.put(t, p, nodes, kind == "StatefulSet")
		}
	}
	later := c.wait(t)
	c.change.Replaced = func(p *snapshot.Pod) Eviction { return Eviction{Pod: p, Scheduling: p.Scheduling, Wait: later} }
	if related && rapid.Bool().Draw(t, "volumes") {
		c.attach(t)
	}
	if rapid.Bool().Draw(t, "storage") {
		c.store(t)
	}
	return c
}

func (c *randomCluster) wait(t *rapid.T) int64 {
	return rapid.SampledFrom([]int64{0, 0, 0, 1, 30, 600}).Draw(t, "wait")
}

// attach gives pods CSI volumes, some of which several pods use, and nodes limits of them.
func (c *randomCluster) attach(t *rapid.T) {
	volumes, limits := map[string]*snapshot.CSIVolume{}, map[string]map[string]int64{}
	for name := range c.Nodes {
		limits[name] = map[string]int64{"ebs": rapid.Int64Range(0, 3).Draw(t, "limit of "+name)}
	}
	claim := func(pods []*snapshot.Pod) {
		for _, p := range pods {
			p.Claims = []string{rapid.SampledFrom([]string{p.Name, "shared", "other"}).Draw(t, "claim of "+p.Name)}
			volumes[p.Claims[0]] = &snapshot.CSIVolume{Driver: rapid.SampledFrom([]string{"ebs", "ebs", "nfs"}).Draw(t, "driver"), Handle: p.Claims[0]}
		}
	}
	for _, n := range c.SortedNodes() {
		claim(c.Pods[n.Name])
	}
	claim(c.Waiting)
	c.Attachments = &snapshot.Attachments{Volumes: map[string]map[string]*snapshot.CSIVolume{"app": volumes}, Limits: limits}
}

// put lets a pod wait or run, where it has room, and evicts it or not.
func (c *randomCluster) put(t *rapid.T, p *snapshot.Pod, nodes int, ordered bool) {
	p.Since = rapid.Int64Range(0, 3).Draw(t, "since")
	at := rapid.IntRange(-1, nodes-1).Draw(t, "node")
	if at < 0 || !c.hasRoom(p, fmt.Sprintf("n%d", at)) {
		if rapid.IntRange(0, 5).Draw(t, "scheduler") == 0 {
			p.Demand.Scheduler = "volcano"
		}
		c.Waiting = append(c.Waiting, p)
		return
	}
	p.Node = fmt.Sprintf("n%d", at)
	p.Terminating, p.Ready = rapid.IntRange(0, 9).Draw(t, "terminating") == 0, rapid.IntRange(0, 4).Draw(t, "ready") > 0
	p.Overdue = p.Terminating && rapid.Bool().Draw(t, "overdue")
	c.run(p)
	if p.Terminating && (ordered || p.Since == 2) {
		c.evicted = append(c.evicted, Eviction{Pod: p, Scheduling: p.Scheduling, Ordered: ordered, PolicyUnknown: ordered && p.Since == 1})
	}
	if !p.Terminating && at < nodes/2 {
		c.change.Taints[p.Node] = taintsOf("gone:NoExecute")
		c.evicted = append(c.evicted, Eviction{Pod: p, Scheduling: p.Scheduling, Ordered: ordered, PolicyUnknown: ordered && p.Since == 1, After: rapid.SampledFrom([]int64{0, 0, 30, 300}).Draw(t, "after"), Wait: c.wait(t), Unsure: rapid.IntRange(0, 4).Draw(t, "unsure") == 0})
	}
}

func (c *randomCluster) hasRoom(p *snapshot.Pod, name string) bool {
	left := *c.Nodes[name].Allocatable
	for _, other := range append(slices.Clone(c.Pods[name]), p) {
		left.MilliCPU -= other.Demand.Holds.MilliCPU
		left.Memory -= other.Demand.Holds.Memory
		left.Pods--
	}
	return left.MilliCPU >= 0 && left.Memory >= 0 && left.Pods >= 0
}

func (c *randomCluster) simulation() *simulation {
	return newSimulation(New(c.Snapshot, c.change, false), c.evicted)
}

func TestSimulate_sameSeedGivesTheSameOutcome(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, true, true)
		seed := rapid.Uint64().Draw(t, "seed")
		first := New(c.Snapshot, c.change, false).Simulate(c.evicted, 6, seed)
		second := New(c.Snapshot, c.change, false).Simulate(c.evicted, 6, seed)
		if diff := cmp.Diff(first, second, cmpopts.IgnoreUnexported(Outcome{})); diff != "" {
			t.Fatal(diff)
		}
		for _, e := range c.evicted {
			if diff := cmp.Diff(first.Of(e.Pod), second.Of(e.Pod), cmpopts.IgnoreUnexported(Group{})); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// Verdicts of single pods agree with the numbers of their workloads.
func TestSimulate_groupsAgreeWithTheirWorkloads(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, true, false)
		out := New(c.Snapshot, c.change, false).Simulate(c.evicted, 6, 3)
		fits, pending := map[string]int{}, map[string]int{}
		for _, e := range c.evicted {
			switch g := out.Of(e.Pod); {
			case (g == nil) != (e.Scheduling == nil || e.Pod.Terminating):
				t.Fatalf("%s has %+v", e.Pod.Name, g)
			case g == nil, e.Unsure:
			case g.Fate == Fits:
				fits[c.Owner(e.Pod).Name]++
			case g.Fate == Pending:
				pending[c.Owner(e.Pod).Name]++
			}
		}
		for _, w := range out.Workloads {
			if fits[w.Name] > w.Placed.Min || pending[w.Name] > w.Missing.Min {
				t.Fatalf("%d pods are said to fit and %d to be Pending: %+v", fits[w.Name], pending[w.Name], w)
			}
			if w.Fate() == Fits && fits[w.Name] != w.Placed.Min {
				t.Fatalf("%d pods are said to fit: %+v", fits[w.Name], w)
			}
		}
	})
}

// sharedThen reports whether a pod was placed beside one with which it shares a volume, and that may be gone since.
func sharedThen(r *replacement, o obstacle) bool {
	return o.kind == byVolumeLimit && len(r.class.attached.shared) > 0
}

// Pods of higher priorities could preempt each other's victims without end: a small cluster needs little work.
func TestSimulation_endsSoon(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, true, true)
		s := c.simulation()
		s.limit = 20_000
		for order := range 6 {
			s.work = 0
			if s.run(3, order); s.exhausted() {
				t.Fatalf("order %d has no end", order)
			}
		}
	})
}

// A pod is placed only where every filter takes it, and stays Pending only where none does.
func TestSimulation_placesWhereEveryFilterTakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, rapid.Bool().Draw(t, "related"), rapid.Bool().Draw(t, "priorities"))
		s := c.simulation()
		s.run(3, 1)
		for _, r := range s.replacements {
			if r.node >= 0 {
				placed := occupant{pod: r.pod, replacement: r}
				s.remove(r.node, placed)
				s.used.release(r.binding)
				if o, _, refuses := s.obstacle(r.class, r.node); refuses && r.class.steady() && !sharedThen(r, o) || !s.static(r.class.search, r.node) {
					t.Fatalf("%s is on %s, which refuses it: %+v", r.pod.Name, s.places[r.node].node.Name, o)
				}
				s.add(r.node, placed)
				s.used.use(slices.DeleteFunc(slices.Clone(r.binding), func(b boundClaim) bool { return b.claim.lasting }))
				continue
			}
			if !r.created {
				continue
			}
			for i := range s.places {
				if s.ask(r.class, int32(i)) == takes {
					t.Fatalf("%s is Pending, and %s takes it", r.pod.Name, s.places[i].node.Name)
				}
			}
		}
	})
}

// The two proofs hold in every order, with rules and without.
func TestSimulate_proofsHoldInEveryOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := drawCluster(t, rapid.Bool().Draw(t, "related"), true)
		change := c.change
		change.Leaving = func(name string) func(*snapshot.Pod) bool {
			if _, tainted := change.Taints[name]; !tainted {
				return nil
			}
			return func(p *snapshot.Pod) bool {
				return slices.ContainsFunc(c.evicted, func(e Eviction) bool { return e.Pod == p })
			}
		}
		for _, w := range New(c.Snapshot, change, false).Simulate(c.evicted, 8, 5).Workloads {
			if w.Pending.Min < w.Proved {
				t.Fatalf("%s: %d are proved to stay Pending, %+v do", w.Name, w.Proved, w.Pending)
			}
		}
	})
}

// If all pods are alike and nothing relates them, a larger node never leaves more of them Pending.
func TestSimulate_moreRoomPlacesNoFewerPodsOfAKind(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cores, gi, asks := rapid.Int64Range(1, 9).Draw(t, "cores"), rapid.Int64Range(1, 9).Draw(t, "gi"), rapid.Int64Range(1, 3).Draw(t, "asks")
		more, n := rapid.Int64Range(0, 3).Draw(t, "more"), rapid.IntRange(1, 12).Draw(t, "replicas")
		placed := func(cores, gi int64) int {
			w := newWorld(having(node("n1"), 99, 99), having(node("n2"), cores, gi), having(node("n3"), 3, 3)).run(replicas("web", "n1", n, asking(asks, asks))...)
			out := w.simulate()
			if out.Placed.Min != out.Placed.Max {
				t.Fatalf("%+v are placed", out.Placed)
			}
			return out.Placed.Min
		}
		if few, many := placed(cores, gi), placed(cores+more, gi+more); many < few {
			t.Fatalf("%d are placed, %d with more room", few, many)
		}
	})
}
