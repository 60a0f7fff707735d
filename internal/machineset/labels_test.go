// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// labelled is a MachineSet with two machines whose labels are simulated.
type labelled struct {
	Observed
}

func labelSet(s string) map[string]string {
	out := map[string]string{}
	for one := range strings.FieldsSeq(s) {
		key, value, _ := strings.Cut(one, "=")
		out[key] = value
	}
	return out
}

func newLabelled(template, machine, node string) *labelled {
	l := &labelled{Observed{Set: &Set{Namespace: "machines", Name: "gpu", Observed: true, NodeLabels: labelSet(template)}, Nodes: map[string]*snapshot.Node{}}}
	for _, name := range []string{"a", "b"} {
		l.Machines = append(l.Machines, &Machine{Namespace: "machines", Name: name, Node: "node-" + name, Labels: labelSet(machine)})
		l.Nodes["node-"+name] = &snapshot.Node{Name: "node-" + name, Labels: labelSet(node)}
	}
	return l
}

// write carries one intent out, and lets nodelink follow.
func (l *labelled) write(i Intent) {
	switch i.Kind {
	case WriteSet:
		l.Set.NodeLabels, l.Set.LabelRecord = label.Apply(l.Set.NodeLabels, i.Set.Labels.Changes), i.Set.Labels.Record
	case WriteMachine:
		i.Machine.Labels = label.Apply(i.Machine.Labels, i.Labels)
		maps.Copy(l.Nodes[i.Machine.Node].Labels, i.Machine.Labels)
	case WriteNode:
		n := l.Nodes[i.Node.Name]
		n.Labels = label.Apply(n.Labels, i.Labels)
		maps.Copy(n.Labels, i.Machine.Labels)
	case Choose, Delete:
		panic("labels replace no machine")
	}
}

// settle plans and writes until nothing is left, at most some writes of it; it returns
// how many were made.
func (l *labelled) settle(t *testing.T, claim label.Claim, most int) int {
	t.Helper()
	writes := 0
	for range 20 {
		p := PlanLabels(l.Observed, claim)
		if len(p.Conflicts) > 0 {
			t.Fatalf("conflicts: %+v", p.Conflicts)
		}
		if len(p.Intents) == 0 {
			return writes
		}
		for _, i := range p.Intents {
			if writes == most {
				return writes
			}
			l.write(i)
			writes++
		}
	}
	t.Fatal("it does not come to an end")
	return 0
}

func (l *labelled) want(t *testing.T, template, machines, nodes string) {
	t.Helper()
	if diff := cmp.Diff(labelSet(template), l.Set.NodeLabels); diff != "" {
		t.Errorf("template (-want +got):\n%s", diff)
	}
	for _, m := range l.Machines {
		if diff := cmp.Diff(labelSet(machines), m.Labels); diff != "" {
			t.Errorf("machine %s (-want +got):\n%s", m.Name, diff)
		}
		if diff := cmp.Diff(labelSet(nodes), l.Nodes[m.Node].Labels); diff != "" {
			t.Errorf("node of %s (-want +got):\n%s", m.Name, diff)
		}
	}
}

func TestPlanLabels(t *testing.T) {
	t.Parallel()
	me := label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "gpu"}}
	tests := []struct {
		name                    string
		template, machine, node string
		before, claim           label.Claim
		wantTemplate            string
		wantMachine, wantNode   string
		wantMarks               string
	}{
		{name: "a label comes to the template, the Machines and the nodes", template: "x=1", node: "host=n", claim: me, wantTemplate: "x=1 pool=gpu", wantMachine: "pool=gpu", wantNode: "host=n pool=gpu", wantMarks: "pool"},
		{name: "what another writer has put into the template comes to machines that are behind, and is not marked", template: "pool=gpu", claim: me, wantTemplate: "pool=gpu", wantMachine: "pool=gpu", wantNode: "pool=gpu"},
		{name: "another value comes everywhere", before: me, claim: label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "cpu"}}, wantTemplate: "pool=cpu", wantMachine: "pool=cpu", wantNode: "pool=cpu", wantMarks: "pool"},
		{name: "what is not wanted any more goes everywhere", template: "x=1", node: "host=n", before: me, claim: label.Claim{Owner: "me", Generation: "g"}, wantTemplate: "x=1", wantNode: "host=n"},
		{name: "what is not wanted any more stays where it is to be kept", before: me, claim: label.Claim{Owner: "me", Generation: "g", Keep: true, Labels: map[string]string{"tier": "a"}}, wantTemplate: "pool=gpu tier=a", wantMachine: "pool=gpu tier=a", wantNode: "pool=gpu tier=a", wantMarks: "pool tier"},
		{name: "a release takes away what is ours alone", template: "pool=gpu", claim: label.Claim{Owner: "me", Generation: "g", Release: true, Labels: me.Labels}, wantTemplate: "pool=gpu"},
	}
	for _, tt := range tests {
		// However many writes are made before the process is killed, the next one
		// comes to the same end.
		for most := range 9 {
			t.Run(fmt.Sprintf("%s/killed after %d writes", tt.name, most), func(t *testing.T) {
				t.Parallel()
				l := newLabelled(tt.template, tt.machine, tt.node)
				if tt.before.Owner != "" {
					l.settle(t, tt.before, 100)
				}
				l.settle(t, tt.claim, most)
				l.settle(t, tt.claim, 100)
				l.want(t, tt.wantTemplate, tt.wantMachine, tt.wantNode)
				var marks []string
				for _, m := range l.Set.LabelRecord {
					marks = append(marks, m.Key)
				}
				slices.Sort(marks)
				if got := strings.Join(marks, " "); got != tt.wantMarks {
					t.Errorf("marks are %q, want %q", got, tt.wantMarks)
				}
			})
		}
	}
}

func TestPlanLabels_keepsItsMarkUntilNoMachineHasTheLabel(t *testing.T) {
	t.Parallel()
	me := label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "gpu"}}
	l := newLabelled("", "", "")
	l.settle(t, me, 100)
	gone := label.Claim{Owner: "me", Generation: "g", Release: true}
	if l.settle(t, gone, 1); l.Set.NodeLabels["pool"] != "" || len(l.Set.LabelRecord) != 1 {
		t.Fatalf("the template has %v with the marks %v", l.Set.NodeLabels, l.Set.LabelRecord)
	}
	l.Set.Observed = false
	l.settle(t, gone, 100)
	if p := PlanLabels(l.Observed, gone); !p.Waits || len(l.Set.LabelRecord) != 1 {
		t.Fatalf("the controller has not seen the template, and the marks are %v", l.Set.LabelRecord)
	}
	l.Set.Observed = true
	if l.settle(t, gone, 100); len(l.Set.LabelRecord) != 0 {
		t.Errorf("marks are left: %v", l.Set.LabelRecord)
	}
}

func TestPlanLabels_conflicts(t *testing.T) {
	t.Parallel()
	me := label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "gpu"}}
	tests := []struct {
		name  string
		of    *labelled
		owner string
		where []string
	}{
		{name: "another value in the template", of: newLabelled("pool=web", "", ""), where: []string{`MachineSet "machines/gpu"`}},
		{name: "another value on Machines", of: newLabelled("", "pool=web", ""), where: []string{`Machine "machines/a"`, `Machine "machines/b"`}},
		{name: "another value on nodes", of: newLabelled("", "", "pool=web"), where: []string{`node "node-a"`, `node "node-b"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := PlanLabels(tt.of.Observed, me)
			var where []string
			for _, c := range p.Conflicts {
				where = append(where, c.Where)
			}
			if diff := cmp.Diff(tt.where, where); diff != "" || len(p.Intents) > 0 {
				t.Errorf("%d writes, conflicts (-want +got):\n%s", len(p.Intents), diff)
			}
		})
	}
	t.Run("a node that another resource has labelled with the same value is left to it", func(t *testing.T) {
		t.Parallel()
		l := newLabelled("", "", "pool=gpu")
		for _, n := range l.Nodes {
			n.LabelRecord = label.Record{{Key: "pool", Owner: "other", Generation: "h"}}
		}
		l.settle(t, me, 100)
		l.settle(t, label.Claim{Owner: "me", Generation: "g", Release: true}, 100)
		l.want(t, "", "", "pool=gpu")
	})
	t.Run("what another resource has marked on a node with another value is a conflict", func(t *testing.T) {
		t.Parallel()
		l := newLabelled("pool=gpu", "pool=gpu", "pool=web")
		l.Nodes["node-a"].LabelRecord = label.Record{{Key: "pool", Owner: "other", Generation: "h"}}
		if p := PlanLabels(l.Observed, me); len(p.Conflicts) != 1 || p.Conflicts[0].Owner != "other" {
			t.Errorf("conflicts: %+v", p.Conflicts)
		}
	})
}

// TestPlanLabels_ofANodeAlone names its machine among those that differ.
func TestPlanLabels_ofANodeAlone(t *testing.T) {
	t.Parallel()
	of := newLabelled("pool=gpu", "pool=gpu", "pool=gpu")
	of.Nodes["node-b"].Labels = nil
	of.Set.LabelRecord = label.Record{{Key: "pool", Owner: "me", Generation: "g"}}
	p := PlanLabels(of.Observed, label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "gpu"}})
	if p.Machines["a"] || !p.Machines["b"] {
		t.Errorf("there differ %v", p.Machines)
	}
}

func TestUnreadable_isSorted(t *testing.T) {
	t.Parallel()
	of, want := newLabelled("", "", ""), strings.Split("abcdefghijklmnop", "")
	clear(of.Nodes)
	for _, name := range want {
		of.Nodes[name] = &snapshot.Node{Name: name, LabelRecordErr: errors.New("damaged")}
	}
	if diff := cmp.Diff(want, of.Unreadable()); diff != "" {
		t.Error(diff)
	}
}

// A kubelet can damage the record of its node: its machine is left as it is, and the others are labelled.
func TestPlanLabels_ofNodesWhoseRecordIsDamaged(t *testing.T) {
	t.Parallel()
	me := label.Claim{Owner: "me", Generation: "g", Labels: map[string]string{"pool": "gpu"}}
	for name, tt := range map[string]struct {
		of *labelled
		// drifted is set where the machine that is left as it is differs.
		drifted bool
	}{
		"a machine without the label":            {newLabelled("pool=gpu", "", ""), true},
		"a Machine that has it, unlike its node": {newLabelled("pool=gpu", "pool=gpu", ""), true},
		"a node that has it, unlike its Machine": {newLabelled("pool=gpu", "", "pool=gpu"), true},
		"a machine that has it":                  {newLabelled("pool=gpu", "pool=gpu", "pool=gpu"), false},
	} {
		tt.of.Nodes["node-a"].LabelRecordErr = errors.New("damaged")
		if got := tt.of.Unreadable(); len(got) != 1 || got[0] != "node-a" {
			t.Errorf("%s: damaged are %v", name, got)
		}
		p := PlanLabels(tt.of.Observed, me)
		if p.Machines["a"] != tt.drifted {
			t.Errorf("%s: drifted are %v", name, p.Machines)
		}
		for _, one := range p.Intents {
			if about := one.About(); about == "node/node-a" || about == "machine/machines/a" {
				t.Errorf("%s: it writes %s", name, about)
			}
		}
	}
}
