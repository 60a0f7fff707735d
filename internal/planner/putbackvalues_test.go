// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
)

// TestPlanLabels_refusesAnotherValueThanTheMachines: nodelink sets on a node the values of its Machine
// (openshift/machine-api-operator pkg/controller/nodelink/nodelink_controller.go, updateNodeLabels), so
// that another value does not stay.
func TestPlanLabels_refusesAnotherValueThanTheMachines(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"a value that is changed": "a", "a value that nodelink has changed": "b"} {
		n := labelledNode(t, "n", "gpu", "*tier=a")
		n.Machine = "m/n"
		desired := NodeLabels{Target: Target{Name: "n"}, Claim: label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"tier": "c"}}}
		desired.Machines = Machines{"m/n": &machineset.Machine{Namespace: "m", Name: "n", Labels: map[string]string{"tier": value}}}
		if !NeedMachines([]*snapshot.Node{n}, NodeTaints{Target: desired.Target}, desired) {
			t.Errorf("%s needs no Machines", name)
		}
		if p := PlanLabels([]*snapshot.Node{n}, desired); len(p.Refusals) == 0 {
			t.Errorf("%s: a label is written that OpenShift puts back: %v", name, p.Switches[0].Merged.Changes)
		}
	}
}

// TestPlanLabels_refusesToRemoveWhatTheMachineHas from a node that is targeted: nodelink puts it back.
func TestPlanLabels_refusesToRemoveWhatTheMachineHas(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		machine map[string]string
		refused bool
	}{
		"a label of the Machine":         {map[string]string{"tier": "a"}, true},
		"a label that the Machine lacks": {map[string]string{"role": "a"}, false},
	} {
		n := labelledNode(t, "n", "gpu", "*tier=a")
		n.Machine = "m/n"
		desired := NodeLabels{Target: Target{Name: "n"}, Claim: label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"pool": "gpu"}}}
		desired.Machines = Machines{"m/n": &machineset.Machine{Namespace: "m", Name: "n", Labels: tt.machine}}
		p := PlanLabels([]*snapshot.Node{n}, desired)
		if refused := len(p.Refusals) == 1 && strings.Contains(p.Refusals[0].Why, "leave it in the configuration"); refused != tt.refused {
			t.Errorf("%s: the refusals are %v", name, p.Refusals)
		}
	}
}
