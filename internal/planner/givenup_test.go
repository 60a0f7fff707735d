// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// givingUp is a destroy of x:NoExecute, y:NoExecute and the taint of control-plane nodes. Node a has x
// and y, its Machine m/a of MachineSet m/ms has x and another taint. The machine-config operator sets
// the taint of control-plane node c, and not that of node p.
type givingUp struct {
	NodeTaints
	a, c, p *snapshot.Node
	machine *machineset.Machine
	set     *machineset.Set
}

const master = "node-role.kubernetes.io/master:NoSchedule"

func newGivingUp(t *testing.T) *givingUp {
	t.Helper()
	g := &givingUp{
		NodeTaints: desire(t, pool(t, "gpu"), "x:NoExecute", "y:NoExecute", master),
		a:          aNode(t, "a", "gpu", "*x:NoExecute", "*y:NoExecute", "z:NoExecute"),
		c:          aNode(t, "c", "gpu", "*"+master, "*x:NoExecute"), p: aNode(t, "p", "gpu", "*"+master, "*x:NoExecute"),
		machine: &machineset.Machine{Namespace: "m", Name: "a", UID: "uid-of-a", Node: "a", Set: "uid-of-ms", Taints: taintsOf(t, "x:NoExecute", "z:NoExecute")},
		set:     &machineset.Set{Namespace: "m", Name: "ms", UID: "uid-of-ms"},
	}
	g.a.Machine, g.c.MachineConfig, g.Claim.Release, g.Claim.Seal = "m/a", true, true, record.Seal{Nonce: "n"}
	g.Machines, g.Sets = Machines{"m/a": g.machine}, map[types.UID]*machineset.Set{"uid-of-ms": g.set}
	g.adopted(true)
	return g
}

// adopted has the marks of the nodes prove that their taints were adopted, or created.
func (g *givingUp) adopted(adopted bool) {
	for _, n := range []*snapshot.Node{g.a, g.c, g.p} {
		for i := range n.Record {
			n.Record[i].Adopted = adopted
			n.Record[i].Proof = g.Claim.OnNode(n.Name, n.UID).Seal.Renew(n.Record[i].Sealed())
		}
	}
}

// TestGivenUp: a taint that was adopted is removed from the Machine as well, unless that is not shown to be
// right. One that no Machine has is removed from its node.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	x := map[string][]string{"x:NoExecute": {"a"}}
	for name, tt := range map[string]struct {
		with func(t *testing.T, g *givingUp)
		want GivenUp
	}{
		"an adopted taint is removed from the Machine": {
			func(*testing.T, *givingUp) {}, GivenUp{FromMachines: map[string][]string{"x:NoExecute": {"m/a"}}},
		},
		"a template that keeps it is named": {
			func(t *testing.T, g *givingUp) { t.Helper(); g.set.Taints = taintsOf(t, "x:NoExecute") },
			GivenUp{FromMachines: map[string][]string{"x:NoExecute": {"m/a"}}, Templates: []string{"m/ms"}},
		},
		"a Machine without a MachineSet has no owner there": {
			func(_ *testing.T, g *givingUp) { g.machine.Set, g.SetsUnread = "", true },
			GivenUp{FromMachines: map[string][]string{"x:NoExecute": {"m/a"}}},
		},
		"a node that is not targeted any more": {
			func(_ *testing.T, g *givingUp) {
				g.Claim.Release, g.a.Labels = false, nil
				g.c.Labels, g.p.Labels = nil, nil
			},
			GivenUp{FromMachines: map[string][]string{"x:NoExecute": {"m/a"}}},
		},
		"an import without a mark on a node that is not targeted any more": {
			func(_ *testing.T, g *givingUp) {
				g.Claim.Release, g.a.Labels, g.a.Record = false, nil, g.a.Record[1:]
				g.c.Labels, g.p.Labels = nil, nil
				g.Claim.Imported = map[taint.ID][]string{{Key: "x", Effect: "NoExecute"}: {""}}
				g.set.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
			},
			GivenUp{},
		},
		"a taint that was created stays": {
			func(_ *testing.T, g *givingUp) { g.adopted(false) }, GivenUp{Kept: x, Machines: []string{"m/a"}},
		},
		"a taint that was created stays on a node of the machine-config operator": {
			func(_ *testing.T, g *givingUp) { g.adopted(false); g.a.MachineConfig = true }, GivenUp{Kept: x, Machines: []string{"m/a"}},
		},
		"a mark that another writer has changed proves nothing": {
			func(_ *testing.T, g *givingUp) {
				g.adopted(false)
				for i := range g.a.Record {
					g.a.Record[i].Adopted = true
				}
			}, GivenUp{Kept: x, Machines: []string{"m/a"}},
		},
		"a Machine of another node is not changed": {
			func(_ *testing.T, g *givingUp) { g.machine.Node = "other" }, GivenUp{Kept: x, Machines: []string{"m/a"}},
		},
		"an owner in the MachineSet": {
			func(_ *testing.T, g *givingUp) {
				g.set.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
			}, GivenUp{Kept: x, Owners: []string{"other"}},
		},
		"an import without a mark that has an owner in the MachineSet": {
			func(_ *testing.T, g *givingUp) {
				g.a.Record, g.Claim.Imported = nil, map[taint.ID][]string{{Key: "x", Effect: "NoExecute"}: {""}}
				g.set.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
			}, GivenUp{Kept: x, Owners: []string{"other"}},
		},
		"an owner of what template_only has left": {
			func(_ *testing.T, g *givingUp) {
				g.set.Remnants = machineset.RemnantRecord{{Key: "x", Effect: "NoExecute", Owner: "other", Machines: []types.UID{"uid-of-a"}}}
			}, GivenUp{Kept: x, Owners: []string{"other"}},
		},
		"an owner of what template_only has left of other taints, or for other Machines": {
			func(_ *testing.T, g *givingUp) {
				g.set.Remnants = machineset.RemnantRecord{
					{Key: "x", Effect: "NoSchedule", Owner: "other", Machines: []types.UID{"uid-of-a"}}, {Key: "y", Effect: "NoExecute", Owner: "other", Machines: []types.UID{"uid-of-a"}},
					{Key: "x", Effect: "NoExecute", Owner: "other", Machines: []types.UID{"uid-of-b"}},
				}
			}, GivenUp{FromMachines: map[string][]string{"x:NoExecute": {"m/a"}}},
		},
		"a record that cannot be read": {
			func(_ *testing.T, g *givingUp) { g.set.RecordErr = errors.New("damaged") }, GivenUp{Kept: x, Damaged: []string{"m/ms"}},
		},
		"MachineSets that may not be listed": {
			func(_ *testing.T, g *givingUp) { g.Sets, g.SetsUnread = nil, true }, GivenUp{Kept: x, Unread: []string{"m/a"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGivingUp(t)
			tt.with(t, g)
			plan := PlanNodes([]*snapshot.Node{g.a, g.c, g.p}, g.NodeTaints)
			want := tt.want
			want.MachineConfig, want.Kept = true, map[string][]string{master: {"c"}}
			maps.Copy(want.Kept, tt.want.Kept)
			if diff := cmp.Diff(want, plan.GivenUp(g.NodeTaints), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if len(g.a.Record) > 0 && !slices.ContainsFunc(plan.Switches, func(s Switch) bool { return s.Node == g.a }) {
				t.Error("y, which no Machine has, is not removed")
			}
			for _, s := range plan.Switches {
				if s.Node == g.a && taint.Find(s.Merged.Taints, taint.ID{Key: "z", Effect: "NoExecute"}) < 0 {
					t.Error("a taint that is not owned is removed")
				}
				if s.Node == g.a && len(s.Merged.Record) > 0 {
					t.Errorf("the record keeps %v", s.Merged.Record)
				}
			}
		})
	}
}

// TestUnchecked names what is removed from nodes of Machines, and from no other node.
func TestUnchecked(t *testing.T) {
	t.Parallel()
	g := newGivingUp(t)
	g.Machines, g.MachinesUnread = nil, true
	n := labelledNode(t, "l", "gpu", "*tier=a")
	n.Machine = "m/l"
	labels := PlanLabels([]*snapshot.Node{n, g.p}, NodeLabels{Target: pool(t, "gpu"), Claim: label.Claim{Owner: "me", Generation: "g2", Release: true}})
	plan := PlanNodes([]*snapshot.Node{g.a, g.p}, g.NodeTaints)
	want := map[string][]string{"taint x:NoExecute": {"a"}, "taint y:NoExecute": {"a"}, "label tier": {"l"}}
	if diff := cmp.Diff(want, Unchecked(plan, labels, g.NodeTaints)); diff != "" {
		t.Error(diff)
	}
	g.MachinesUnread = false
	if got := Unchecked(plan, labels, g.NodeTaints); len(got) > 0 {
		t.Errorf("with permission: %v", got)
	}
}

// TestNeedSets: a plan that gives up nothing which a Machine has does without MachineSets.
func TestNeedSets(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		with func(g *givingUp)
		want bool
	}{
		"a taint of the Machine is given up":    {func(*givingUp) {}, true},
		"the Machine has none of them":          {func(g *givingUp) { g.machine.Taints = nil }, false},
		"the Machine has no MachineSet":         {func(g *givingUp) { g.machine.Set = "" }, false},
		"the node has no Machine":               {func(g *givingUp) { g.a.Machine = "" }, false},
		"the taints stay in the configuration":  {func(g *givingUp) { g.Claim.Release = false }, false},
		"the taint was not adopted, and stays":  {func(g *givingUp) { g.adopted(false) }, false},
		"a node that is not targeted any more":  {func(g *givingUp) { g.Claim.Release, g.a.Labels = false, nil }, true},
		"the kind of the Machines is not there": {func(g *givingUp) { g.Machines = nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGivingUp(t)
			g.Sets = nil
			tt.with(g)
			if got := NeedSets([]*snapshot.Node{g.a}, g.NodeTaints); got != tt.want {
				t.Errorf("MachineSets are needed: %t", got)
			}
		})
	}
}

// TestGivenUp_nothingOfTaintsThatTheConfigurationDrops: as long as their node is targeted, they go from it alone.
func TestGivenUp_nothingOfTaintsThatTheConfigurationDrops(t *testing.T) {
	t.Parallel()
	g := newGivingUp(t)
	g.Claim.Release, g.Claim.Taints = false, taintsOf(t, "y:NoExecute")
	plan := PlanNodes([]*snapshot.Node{g.a}, g.NodeTaints)
	if diff := cmp.Diff(GivenUp{}, plan.GivenUp(g.NodeTaints), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
	if len(plan.Switches) != 1 || plan.Switches[0].Machine != nil {
		t.Errorf("its Machine is changed: %+v", plan.Switches)
	}
}

// TestGivenUp_isSorted, each name once, in whatever order nodes are written.
func TestGivenUp_isSorted(t *testing.T) {
	t.Parallel()
	x := taint.ID{Key: "x", Effect: "NoExecute"}
	sets := map[types.UID]*machineset.Set{}
	for _, name := range []string{"s1", "s2"} {
		sets[types.UID(name)] = &machineset.Set{Namespace: "m", Name: name, Taints: taintsOf(t, "x:NoExecute")}
	}
	var plan NodePlan
	for _, words := range []string{"c m3 s2", "b m1 s1", "a m2 s1"} {
		node, rest, _ := strings.Cut(words, " ")
		machine, set, _ := strings.Cut(rest, " ")
		s := Switch{Node: aNode(t, node, "gpu"), Machine: &machineset.Machine{Namespace: "m", Name: machine, Set: types.UID(set)}, FromMachine: []taint.ID{x}}
		plan.Switches = append(plan.Switches, s)
		s.FromMachine, s.Kept = nil, []taint.ID{x}
		plan.unwritten = append(plan.unwritten, s, s)
	}
	want := GivenUp{
		FromMachines: map[string][]string{"x:NoExecute": {"m/m1", "m/m2", "m/m3"}}, Templates: []string{"m/s1", "m/s2"},
		Kept: map[string][]string{"x:NoExecute": {"a", "b", "c"}}, Machines: []string{"m/m1", "m/m2", "m/m3"},
	}
	if diff := cmp.Diff(want, plan.GivenUp(NodeTaints{Sets: sets}), cmpopts.EquateEmpty()); diff != "" {
		t.Error(diff)
	}
}

func TestNodeTaints_WithSet(t *testing.T) {
	t.Parallel()
	g := newGivingUp(t)
	for name, tt := range map[string]struct {
		now   *machineset.Set
		there bool
	}{
		"as it is now": {&machineset.Set{UID: "uid-of-ms", Name: "now"}, true}, "deleted": {nil, false}, "created anew": {&machineset.Set{UID: "another"}, false},
	} {
		got := g.WithSet(g.set, tt.now).Sets
		if _, there := got["uid-of-ms"]; there != tt.there || there && got["uid-of-ms"] != tt.now || len(got) > 1 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if g.Sets["uid-of-ms"] != g.set {
		t.Error("the change that it was made of has changed")
	}
}

func TestNodeTaints_WithoutOwner(t *testing.T) {
	t.Parallel()
	g := newGivingUp(t)
	x, z := taint.ID{Key: "x", Effect: "NoExecute"}, taint.ID{Key: "z", Effect: "NoExecute"}
	g.set.Record = taint.Record{{Key: "x", Effect: "NoExecute", Owner: "other", Generation: "g9"}}
	ids := []taint.ID{x, z}
	if diff := cmp.Diff([]taint.ID{z}, g.WithoutOwner(g.a, ids)); diff != "" || len(ids) != 2 || ids[0] != x {
		t.Errorf("of %v: %s", ids, diff)
	}
	if diff := cmp.Diff(taintsOf(t, "x:NoSchedule", "z:NoExecute"), Without(taintsOf(t, "x:NoSchedule", "x=1:NoExecute", "z:NoExecute"), []taint.ID{x})); diff != "" {
		t.Error(diff)
	}
}
