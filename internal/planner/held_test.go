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
)

// TestHold_onlyWhatIsWanted: a mark of what an apply has given up is there at its end only where
// somebody has written it back, with a proof that still counted in that apply.
func TestHold_onlyWhatIsWanted(t *testing.T) {
	t.Parallel()
	const object = "Node/n1"
	seal := record.Seal{Nonce: "n"}
	tainted := taint.Claim{Owner: "me", Generation: "g", Seal: seal, Taints: taintsOf(t, "given-up:NoExecute", "kept:NoExecute")}
	labelled := label.Claim{Owner: "me", Generation: "g", Seal: seal, Labels: map[string]string{"given-up": "a", "kept": "a"}}
	n := &snapshot.Node{Name: "n1"}
	n.Record = taint.Merge(nil, nil, tainted.On(object)).Record
	n.LabelRecord = label.Merge(nil, nil, labelled.On(object)).Record
	set := &machineset.Set{Namespace: "a", Name: "b"}
	set.LabelRecord = label.Merge(nil, nil, labelled.On(set.Object())).Record
	for name, hold := range map[string]func(held record.Held, all bool) bool{
		"taints of a node": func(held record.Held, all bool) bool {
			d := NodeTaints{Target: Target{Names: []string{"n1"}}, Claim: tainted}
			if !all {
				d.Claim.Taints = taintsOf(t, "kept:NoExecute")
			}
			return d.Hold([]*snapshot.Node{n}, held)
		},
		"labels of a node": func(held record.Held, all bool) bool {
			d := NodeLabels{Target: Target{Names: []string{"n1"}}, Claim: labelled}
			if !all {
				d.Claim.Labels = map[string]string{"kept": "a"}
			}
			return d.Hold([]*snapshot.Node{n}, held)
		},
		"labels of a MachineSet": func(held record.Held, all bool) bool {
			d := DesiredSets{Target: machineset.Target{Namespace: "a", Name: "b"}, Labels: labelled}
			if !all {
				d.Labels.Labels = map[string]string{"kept": "a"}
			}
			return d.Hold([]machineset.Observed{{Set: set}}, held)
		},
	} {
		for all, want := range map[bool]int{true: 2, false: 1} {
			held := record.Held{}
			if known := hold(held, all); !known || len(held) != want {
				t.Errorf("%s: known is %t and %d marks are held, want %d", name, known, len(held), want)
			}
		}
	}
}
