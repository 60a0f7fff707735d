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

// TestPutBack: labels that a destroy removes and that the Machine of a node has.
func TestPutBack(t *testing.T) {
	t.Parallel()
	n := labelledNode(t, "a", "gpu", "*tier=a", "*zone=z")
	n.Machine = "m/a"
	labels := NodeLabels{Target: pool(t, "gpu"), Claim: label.Claim{Owner: "me", Generation: "g2", Release: true}}
	machines := Machines{"m/a": {Namespace: "m", Name: "a", Labels: map[string]string{"tier": "a"}}}
	if diff := cmp.Diff(map[string][]string{"label tier": {"a"}}, PutBack(PlanLabels([]*snapshot.Node{n}, labels), machines)); diff != "" {
		t.Error(diff)
	}
}

// TestNodeTaints_putBack expects advice for the meantime where an entry is dropped. An entry that
// must be absent is in no configuration, and needs none.
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
