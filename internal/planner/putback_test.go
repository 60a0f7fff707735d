// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestPutBack: what a destroy removes and OpenShift brings again, from the Machine or by the
// machine-config operator.
func TestPutBack(t *testing.T) {
	t.Parallel()
	const master = "node-role.kubernetes.io/master:NoSchedule"
	machine := labelledNode(t, "a", "gpu", "*tier=a", "*zone=z")
	carried := aNode(t, "a", "gpu", "*x:NoExecute", "*y:NoExecute")
	machine.Taints, machine.Record, machine.Machine = carried.Taints, carried.Record, "m/a"
	control, plain := aNode(t, "c", "gpu", "*"+master, "*x:NoExecute"), aNode(t, "p", "gpu", "*"+master, "*x:NoExecute")
	control.MachineConfig = true
	nodes := []*snapshot.Node{machine, control, plain}
	destroy, labels := desire(t, pool(t, "gpu"), "x:NoExecute", "y:NoExecute", master), NodeLabels{Target: pool(t, "gpu"), Claim: label.Claim{Owner: "me", Generation: "g2", Release: true}}
	destroy.Claim.Release = true
	machines := Machines{"m/a": {Namespace: "m", Name: "a", Taints: taintsOf(t, "x:NoExecute", "z:NoExecute"), Labels: map[string]string{"tier": "a"}}}
	got := PutBack(PlanNodes(nodes, destroy), PlanLabels(nodes, labels), machines)
	want := map[string][]string{"taint x:NoExecute": {"a"}, "label tier": {"a"}, "taint " + master: {"c"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestNodeTaints_putBack tells what to do meanwhile where an entry is dropped. One that has to be absent
// stands in no configuration.
func TestNodeTaints_putBack(t *testing.T) {
	t.Parallel()
	n := aNode(t, "a", "gpu", "*x:NoExecute", "y:NoExecute")
	n.Machine = "m/a"
	desired := desire(t, Target{Name: "a"})
	desired.Machines = Machines{"m/a": &machineset.Machine{Taints: taintsOf(t, "x:NoExecute", "y:NoExecute")}}
	desired.Claim.Absent = []taint.ID{{Key: "y", Effect: "NoExecute"}}
	refusals := Refuse(n, MergeNode(n, desired), desired)
	if len(refusals) != 2 {
		t.Fatalf("refused are %v", refusals)
	}
	for _, r := range refusals {
		if dropped := r.ID.Key == "x"; strings.Contains(r.Why, "until then, leave it in the configuration") != dropped {
			t.Errorf("%s: %s", r.ID, r.Why)
		}
	}
}
