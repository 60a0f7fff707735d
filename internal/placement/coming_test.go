// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package placement

import (
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
