// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

// TestFound_allThatCarriesTheGeneration has each object carry what the resource wrote, beside marks of
// another owner and of another generation.
func TestFound_allThatCarriesTheGeneration(t *testing.T) {
	t.Parallel()
	owners := []struct {
		owner, generation string
		counts            bool
	}{{"me", "g", true}, {"me", "other", false}, {"other", "g", false}}
	for _, o := range owners {
		taints := taint.Record{{Key: "a", Effect: "NoExecute", Owner: o.owner, Generation: o.generation, Proof: "lost"}}
		labels := label.Record{{Key: "a", Owner: o.owner, Generation: o.generation, Proof: "lost"}}
		tolerations := toleration.Record{{Key: "a", Owner: o.owner, Generation: o.generation, Proof: "lost"}}
		remnants := machineset.RemnantRecord{{Key: "a", Effect: "NoExecute", Owner: o.owner, Generation: o.generation, Proof: "lost"}}
		n, uid := &snapshot.Node{Name: "n", UID: "u", Record: taints, LabelRecord: labels}, "u"
		set := &machineset.Set{Namespace: "a", Name: "b", Record: taints, LabelRecord: labels, Remnants: remnants, Marker: &machineset.Marker{ID: o.owner, Proof: "lost"}}
		f := Found{Owner: "me", Generation: "g", Seal: record.Seal{Nonce: "n"}, Held: record.Held{}}
		f.Nodes([]*snapshot.Node{n})
		f.Sets([]machineset.Observed{{Set: set}})
		f.Lists("Deployment/shop/web", tolerations, labels)
		now := record.Seal{Nonce: "n", Epoch: 1, Held: f.Held}
		for name, tt := range map[string]struct {
			seal   record.Seal
			mark   record.Sealed
			counts bool
		}{
			"a taint of a node":           {now.OnNode("n", uid), taints[0].Sealed(), o.counts},
			"a label of a node":           {now.OnNode("n", uid), labels[0].Sealed(), o.counts},
			"a taint of a MachineSet":     {now.On(set.Object()), taints[0].Sealed(), o.counts},
			"a label of a MachineSet":     {now.On(set.Object()), labels[0].Sealed(), o.counts},
			"what machines kept":          {now.On(set.Object()), remnants[0].Sealed(), o.counts},
			"a rollout":                   {now.On(set.Object()), set.Marker.Sealed(), o.owner == "me"},
			"a toleration":                {now.On("Deployment/shop/web"), tolerations[0].Sealed(), o.counts},
			"a node selector":             {now.On("Deployment/shop/web"), labels[0].Sealed(), o.counts},
			"a taint of a node made anew": {now.OnNode("n", "another"), taints[0].Sealed(), false},
			"a taint of another node":     {now.OnNode("m", uid), taints[0].Sealed(), false},
		} {
			if got := tt.seal.Proves(tt.mark); got != tt.counts {
				t.Errorf("%s of %s/%s counts: %t", name, o.owner, o.generation, got)
			}
		}
	}
}

// TestFound_unmarked has two of three entries without a mark, on one of two objects that are meant.
func TestFound_unmarked(t *testing.T) {
	t.Parallel()
	list := taintsOf(t, "a:NoExecute", "b:NoExecute", "c:NoExecute")
	ids := taint.IDs(list[:2])
	marks := taint.Record{{Key: "b", Effect: "NoExecute", Owner: "me", Generation: "g"}}
	n, other := &snapshot.Node{Name: "n", UID: "u", Taints: list, Record: marks}, &snapshot.Node{Name: "other", Taints: list}
	set, otherSet := &machineset.Set{Namespace: "a", Name: "b", Taints: list, Record: marks}, &machineset.Set{Namespace: "a", Name: "c", Taints: list}
	f := Found{Seal: record.Seal{Nonce: "n"}, Held: record.Held{}}
	for name, got := range map[string][]taint.ID{
		"nodes":       f.Unmarked(Target{Names: []string{"n"}}, []*snapshot.Node{n, other}, ids),
		"MachineSets": f.UnmarkedInSets(machineset.Target{Namespace: "a", Name: "b"}, []machineset.Observed{{Set: set}, {Set: otherSet}}, ids),
	} {
		if len(got) != 1 || got[0] != ids[0] {
			t.Errorf("on %s there is %v", name, got)
		}
	}
	claim := taint.Claim{Seal: record.Seal{Nonce: "n", Epoch: 1, Held: f.Held}, Imported: map[taint.ID][]string{ids[0]: {""}, ids[1]: {""}}}
	for name, tt := range map[string]struct {
		claim taint.Claim
		want  bool
	}{
		"the node": {claim.OnNode("n", "u"), true}, "another node": {claim.OnNode("other", ""), false},
		"the MachineSet": {claim.On(set.Object()), true}, "another MachineSet": {claim.On(otherSet.Object()), false},
		"the node, that it has left": {claim.OnNode("n", "u").Leaving(), false},
	} {
		if tt.claim.Unmarked(ids[0]) != tt.want || tt.claim.Unmarked(ids[1]) {
			t.Errorf("of %s the entries without a mark are owned: %t, %t", name, tt.claim.Unmarked(ids[0]), tt.claim.Unmarked(ids[1]))
		}
	}
}
