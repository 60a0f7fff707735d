// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

func TestUncordons_nodesThatTakeNoPodsAndThoseWithARecord(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		node snapshot.Node
		want bool
	}{
		"a node that takes pods":              {snapshot.Node{}, false},
		"a cordoned node":                     {snapshot.Node{Unschedulable: true}, true},
		"a cordoned node with a record":       {snapshot.Node{Unschedulable: true, Awaited: "[]"}, true},
		"a record of a node that takes pods":  {snapshot.Node{Awaited: "[]"}, true},
		"a damaged record":                    {snapshot.Node{Awaited: "{"}, true},
		"a node that is not ready":            {snapshot.Node{Unschedulable: true, Ready: false}, true},
		"a node with a Machine that has none": {snapshot.Node{Machine: "m/a"}, false},
	} {
		if got := Uncordons(&tt.node); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestMachines_BeingDeleted(t *testing.T) {
	t.Parallel()
	machines := Machines{"m/going": {Namespace: "m", Name: "going", Deleting: true}, "m/here": {Namespace: "m", Name: "here"}}
	for name, tt := range map[string]struct {
		nodes []*snapshot.Node
		want  []BeingDeleted
		// needs is set where Machines must be read.
		needs bool
	}{
		"none": {},
		"a cordoned node without a Machine": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true}},
		},
		"a node that is being deleted": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true, Deleting: true}}, want: []BeingDeleted{{Node: "a"}},
		},
		"a node that is being deleted, with its Machine": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true, Deleting: true, Machine: "m/going"}}, want: []BeingDeleted{{Node: "a"}},
		},
		"a Machine that is being deleted": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true, Machine: "m/going"}}, want: []BeingDeleted{{Node: "a", Machine: "m/going"}}, needs: true,
		},
		"a Machine that stays": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true, Machine: "m/here"}}, needs: true,
		},
		"a Machine that there is not": {
			nodes: []*snapshot.Node{{Name: "a", Unschedulable: true, Machine: "m/other"}}, needs: true,
		},
		"nodes that take pods": {
			nodes: []*snapshot.Node{{Name: "a", Deleting: true}, {Name: "b", Machine: "m/going"}, {Name: "c", Machine: "m/going", Awaited: "[]"}},
		},
		"several, by name": {
			nodes: []*snapshot.Node{{Name: "b", Unschedulable: true, Machine: "m/going"}, {Name: "c", Unschedulable: true}, {Name: "a", Unschedulable: true, Deleting: true}},
			want:  []BeingDeleted{{Node: "a"}, {Node: "b", Machine: "m/going"}}, needs: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, machines.BeingDeleted(tt.nodes)); diff != "" {
				t.Error(diff)
			}
			if got := NeedMachinesOf(tt.nodes); got != tt.needs {
				t.Errorf("it needs Machines: %t", got)
			}
		})
	}
}
