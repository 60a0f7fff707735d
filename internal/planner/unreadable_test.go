// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/eviction"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
)

func TestPlanNodes_refusesWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	broken := aNode(t, "a", "gpu")
	broken.RecordErr = errors.New("the annotation cannot be read")
	elsewhere := aNode(t, "b", "cpu")
	elsewhere.RecordErr = broken.RecordErr
	released := desire(t, pool(t, "gpu"), "x:NoExecute")
	released.Claim.Release = true
	for name, desired := range map[string]NodeTaints{"a node by its name": desire(t, Target{Name: "a"}, "x:NoExecute"), "a destroy, by a selector": released} {
		p := PlanNodes([]*snapshot.Node{broken, elsewhere}, desired)
		if got := refusals(p); len(got) != 1 || !strings.HasPrefix(got[0], "a: the annotation cannot be read (repair it; ") {
			t.Errorf("%s: only nodes that are meant are refused, and with a way out: %s", name, got)
		}
	}
}

// A kubelet may damage the record of its own node: the others of a selector are changed all the
// same, and nothing is written to this one.
func TestPlanNodes_skipsANodeOfASelectorThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		taints []string
		want   taint.Status
	}{
		"with what must be absent": {[]string{"x:NoExecute", "gone:NoExecute"}, taint.Different},
		"without the taint":        {nil, taint.Missing}, "with another value": {[]string{"x=other:NoExecute"}, taint.Different}, "with the taint": {[]string{"x:NoExecute"}, ""},
	} {
		broken, other := aNode(t, "a", "gpu", tt.taints...), aNode(t, "b", "gpu")
		broken.RecordErr = errors.New("the annotation cannot be read")
		desired := desire(t, pool(t, "gpu"), "x:NoExecute")
		desired.Claim.Absent = []taint.ID{{Key: "gone", Effect: corev1.TaintEffectNoExecute}}
		p := PlanNodes([]*snapshot.Node{broken, other}, desired)
		if len(p.Refusals) > 0 || len(p.Switches) != 1 || p.Switches[0].Node != other {
			t.Errorf("%s: b alone is to be changed: refused %v, changed %v", name, refusals(p), p.Switches)
		}
		if p.Deviations["a"] != tt.want {
			t.Errorf("%s: a is told to be %q, want %q", name, p.Deviations["a"], tt.want)
		}
		if got := desired.Unreadable([]*snapshot.Node{broken, other}); !slices.Equal(got, []string{"a"}) {
			t.Errorf("%s: unreadable are %v", name, got)
		}
	}
}

// The configuration names no entry of a node that is not meant: a mark without a proof, which a
// kubelet can copy from anywhere, has nothing removed or restored there.
func TestPlanNodes_believesAMarkOnANodeThatIsNotMeantByItsProof(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n"}
	desired := desire(t, pool(t, "gpu"), "x:NoExecute")
	desired.Claim.Seal = seal
	genuine := taint.Merge(nil, nil, desired.Claim.On("Node/a")).Record
	copied := taint.Merge(nil, nil, desired.Claim.On("Node/b")).Record
	for name, tt := range map[string]struct {
		mark taint.Mark
		want int
	}{
		"with its proof":              {genuine[0], 1},
		"with that of another node":   {copied[0], 0},
		"without one":                 {taint.Mark{Key: "x", Effect: "NoExecute", Owner: "me", Generation: desired.Claim.Generation}, 0},
		"with what is to be restored": {taint.Mark{Key: "x", Effect: "NoExecute", Owner: "me", Generation: desired.Claim.Generation, Absent: true, Previous: new("evil"), Proof: genuine[0].Proof}, 0},
	} {
		left := aNode(t, "a", "cpu", "x:NoExecute")
		left.Record = taint.Record{tt.mark}
		if p := PlanNodes([]*snapshot.Node{left}, desired); len(p.Switches) != tt.want {
			t.Errorf("%s: %d changes, want %d", name, len(p.Switches), tt.want)
		}
	}
}

// A mark that is copied with its proof has nothing removed on another object of any kind.
func TestProofsAreOfOneObject(t *testing.T) {
	t.Parallel()
	seal := record.Seal{Nonce: "n"}
	taints := taint.Claim{Owner: "me", Generation: "g2", Seal: seal, Taints: taintsOf(t, "x:NoExecute")}
	labels := label.Claim{Owner: "me", Generation: "g2", Seal: seal, Labels: map[string]string{"dedicated": "gpu"}}
	tolerations := toleration.Claim{Owner: "me", Generation: "g2", Seal: seal, Tolerations: []corev1.Toleration{tol(t, "x:NoExecute")}}
	nothing := struct {
		taints      taint.Claim
		labels      label.Claim
		tolerations toleration.Claim
	}{taints, labels, tolerations}
	nothing.taints.Taints, nothing.labels.Labels, nothing.tolerations.Tolerations = nil, nil, nil
	// Each returns whether the object of this name loses what a mark of the object "a" names.
	for kind, loses := range map[string]func(name string) bool{
		"the taints of a node": func(name string) bool {
			n := aNode(t, name, "gpu", "x:NoExecute")
			n.Record = taint.Merge(nil, nil, taints.On("Node/a")).Record
			return MergeNode(n, NodeTaints{Target: pool(t, "gpu"), Claim: nothing.taints}).Changed
		},
		"the labels of a node": func(name string) bool {
			n := aNode(t, name, "gpu")
			n.Labels["dedicated"] = "gpu"
			n.LabelRecord = label.Merge(nil, nil, labels.On("Node/a")).Record
			return MergeLabels(n, NodeLabels{Target: pool(t, "gpu"), Claim: nothing.labels}).Changed
		},
		"the tolerations of a workload": func(name string) bool {
			w := aWorkload(t, "Deployment", name, "x:NoExecute")
			w.Record = toleration.Merge(nil, nil, tolerations.On("Deployment/shop/a"), nil, true).Record
			return Tolerations{Workload: w, Claim: nothing.tolerations}.Merge(aSnapshot(nil), eviction.ComparisonOff).Changed
		},
		"what a workload requires": func(name string) bool {
			w := aWorkload(t, "Deployment", name)
			w.NodeSelector = map[string]string{"dedicated": "gpu"}
			w.LabelRecord = label.Merge(nil, nil, labels.On("Deployment/shop/a")).Record
			return Tolerations{Workload: w, Pin: nothing.labels}.MergePins().Changed
		},
		"the taints of a MachineSet": func(name string) bool {
			s := &machineset.Set{Namespace: "api", Name: name, Taints: taintsOf(t, "x:NoExecute"), Record: taint.Merge(nil, nil, taints.On("MachineSet/api/a")).Record}
			return machineset.Desired{Claim: nothing.taints}.Merge(s).Changed
		},
		"the labels of a MachineSet": func(name string) bool {
			s := &machineset.Set{Namespace: "api", Name: name, NodeLabels: map[string]string{"dedicated": "gpu"}, LabelRecord: label.Merge(nil, nil, labels.On("MachineSet/api/a")).Record}
			return machineset.PlanLabels(machineset.Observed{Set: s}, nothing.labels).Template.Changed
		},
	} {
		if !loses("a") || loses("b") {
			t.Errorf("%s: lost where the mark is from %t, where it is copied to %t; want true and false", kind, loses("a"), loses("b"))
		}
	}
}

// A node without the taints gets no labels either: they would bring pods to it.
func TestPlanLabels_skipsANodeOfASelectorThatCannotBeRead(t *testing.T) {
	t.Parallel()
	labels, taints := aNode(t, "a", "gpu"), aNode(t, "b", "gpu")
	labels.LabelRecordErr, taints.RecordErr = errors.New("broken"), errors.New("broken")
	nodes := []*snapshot.Node{labels, taints, aNode(t, "c", "gpu")}
	claim := label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"dedicated": "gpu"}}
	p := PlanLabels(nodes, NodeLabels{Target: pool(t, "gpu"), Claim: claim})
	if len(p.Refusals) > 0 || len(p.Switches) != 1 || p.Switches[0].Node != nodes[2] {
		t.Errorf("c alone is to be labelled: refused %v, changed %v", p.Refusals, p.Switches)
	}
	if p := PlanLabels(nodes, NodeLabels{Target: Target{Name: "a"}, Claim: claim}); len(p.Refusals) != 1 || !strings.HasPrefix(p.Refusals[0].Why, "broken (repair it") {
		t.Errorf("a node by its name is to be refused: %v", p.Refusals)
	}
}
