// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestFind_nodesThatAChangeBrings(t *testing.T) {
	t.Parallel()
	// pool is a node of a pool, with four cores.
	pool := func(name string, taints ...string) *snapshot.Node {
		return labelled(having(node(name, taints...), 4, 16), "pool", "gpu")
	}
	tolerant, inPool := tolerating(exists("team", corev1.TaintEffectNoExecute)), selecting("pool", "gpu")
	bound := claiming("data")
	web := func(options ...podOption) *snapshot.Pod { return pod("web", "gpu-1", options...) }
	for name, tt := range map[string]struct {
		world    world
		awaits   []string
		fits     bool
		declines string
		cordoned bool
	}{
		"a pod that fits only there awaits them":              {world: newWorld().run(web(inPool, tolerant)), awaits: []string{"MachineSet gpu"}, fits: true},
		"a pod that another node takes does not":              {world: newWorld(labelled(node("free"), "pool", "gpu")).run(web(inPool, tolerant)), fits: true},
		"their taints keep a pod away":                        {world: newWorld().run(web()), declines: "; the new machines are tainted team=a:NoExecute"},
		"their labels keep a pod away":                        {world: newWorld().run(web(selecting("disk", "ssd"), tolerant)), declines: "; the new machines do not match its node selector"},
		"a cordon on them keeps a pod away":                   {world: newWorld().run(web(tolerant)), cordoned: true, declines: "; the new machines are cordoned"},
		"what they have does not suffice":                     {world: newWorld().run(web(asking(5, 0), tolerant)), declines: "; the new machines lack cpu (needs 5, at most 4 free)"},
		"a volume keeps a pod away":                           {world: newWorld().run(web(bound, tolerant)).bindTo("data", "pv-7", onHost("gone")), declines: "; the new machines are not where its volume is"},
		"pods of DaemonSets on a node like them hold room":    {world: newWorld().run(web(asking(3, 0), tolerant), pod("agent", "gpu-1", ownedBy("DaemonSet", "agent"), asking(2, 0))), declines: "; the new machines lack cpu (needs 3, at most 2 free)"},
		"and those that are being deleted hold none":          {world: newWorld().run(web(asking(3, 0), tolerant), pod("agent", "gpu-1", ownedBy("DaemonSet", "agent"), asking(2, 0), terminating)), awaits: []string{"MachineSet gpu"}, fits: true},
		"other pods of a node like them hold no room on them": {world: newWorld().run(web(asking(3, 0), tolerant), pod("other", "gpu-1", asking(2, 0))), awaits: []string{"MachineSet gpu"}, fits: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.world.Nodes["gpu-1"] = pool("gpu-1")
			brought := pool("", "team=a:NoExecute")
			brought.Unschedulable = tt.cordoned
			f := New(tt.world.Snapshot, Scenario{Drained: map[string]bool{"gpu-1": true}, Comes: []Coming{{Node: brought, Like: "gpu-1", Of: "MachineSet gpu"}}}, false)
			p := tt.world.named(t, "web")
			found := f.Find(p, p.Scheduling)
			if diff := cmp.Diff(tt.awaits, found.Awaits, cmpopts.EquateEmpty()); diff != "" || found.Fits() != tt.fits {
				t.Errorf("fits %t, want %t; awaits: %s", found.Fits(), tt.fits, diff)
			}
			_, declined := f.arrive(f.search(p, p.Scheduling), p.Requests())
			if got := declines(declined); !tt.fits && got != tt.declines {
				t.Errorf("got %q, want %q", got, tt.declines)
			}
		})
	}
}

func TestDeclines_ofSeveralKindsOfNodes(t *testing.T) {
	t.Parallel()
	w := newWorld(node("n1")).run(pod("p", "n1", selecting("disk", "ssd")))
	change := Scenario{Drained: map[string]bool{"n1": true}}
	change.Comes = []Coming{
		{Node: node("", "a:NoSchedule"), Of: "MachineSet a"},
		{Node: labelled(node("", "b:NoSchedule"), "disk", "ssd"), Of: "MachineSet b"},
		{Node: node("", "c:NoSchedule"), Of: "MachineSet c"},
	}
	p := w.named(t, "p")
	f := New(w.Snapshot, change, false)
	_, declined := f.arrive(f.search(p, p.Scheduling), p.Requests())
	if got, want := declines(declined), "; of the new machines some do not match its node selector, some are tainted b:NoSchedule"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Four pods need a new machine each, or more than two have.
func TestSimulate_countsHowManyPodsTheNewNodesHold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		machines int
		node     *snapshot.Node
		pod      podOption
		want     int
	}{
		"two of four cores, and pods of two":   {machines: 2, node: having(node("", "team=a:NoExecute"), 4, 16), pod: asking(2, 1), want: 4},
		"two of four cores, and pods of three": {machines: 2, node: having(node("", "team=a:NoExecute"), 4, 16), pod: asking(3, 1), want: 2},
		"one, and a pod of each DaemonSet":     {machines: 1, node: having(node("", "team=a:NoExecute"), 4, 16), pod: asking(1, 1), want: 2},
		"how many come is not known":           {node: having(node("", "team=a:NoExecute"), 4, 16), pod: asking(3, 1), want: math.MaxInt32},
		"what they have is not known":          {machines: 1, node: node("", "team=a:NoExecute"), pod: asking(3, 1), want: math.MaxInt32},
		"none takes them":                      {machines: 2, node: having(node("", "team=b:NoExecute"), 4, 16), pod: asking(1, 1), want: 0},
	} {
		w := newWorld(having(node("n1"), 16, 64)).run(replicas("web", "n1", 4, tt.pod, tolerating(corev1.Toleration{Key: "team", Value: "a"}))...).
			run(pod("agent", "n1", ownedBy("DaemonSet", "agent"), asking(2, 0)))
		if name != "one, and a pod of each DaemonSet" {
			w.Pods["n1"] = w.Pods["n1"][:4]
		}
		change := gone("n1")
		change.Comes = []Coming{{Node: tt.node, Like: "n1", Of: "MachineSet gpu", Count: tt.machines}}
		evicted := w.evictAll("n1")[:4]
		out := New(w.Snapshot, change, false).Simulate(evicted, Orders, 1)
		got := out.of(t, "web")
		if tt.want == math.MaxInt32 {
			if got.Arriving < tt.want {
				t.Errorf("%s: they hold %d", name, got.Arriving)
			}
		} else if got.Arriving != tt.want || out.Of(evicted[0].Pod).Arriving != tt.want || got.Pending != exactly(4) {
			t.Errorf("%s: they hold %d, want %d; %v Pending", name, got.Arriving, tt.want, got.Pending)
		}
	}
}
