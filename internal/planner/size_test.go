// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/validation"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/annotations"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestTooLarge: a node's records of taints and labels fit beside its other annotations, or they do not.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	d := desire(t, pool(t, "gpu"), "x:NoExecute")
	l := NodeLabels{Target: d.Target, Claim: label.Claim{Owner: "me", Generation: "g2", Labels: map[string]string{"tier": "x"}}}
	empty := aNode(t, "a", "gpu")
	taints := len(taint.OwnedAnnotation) + len(PlanNodes([]*snapshot.Node{empty}, d).Switches[0].Merged.Record.String())
	both := taints + len(label.OwnedAnnotation) + len(PlanLabels([]*snapshot.Node{empty}, l).Switches[0].Merged.Record.String())
	for name, tt := range map[string]struct {
		room int
		// Which of the three refuse: the plan of taints, that of labels, the two together.
		taints, labels, together bool
	}{
		"both fit":          {both, false, false, false},
		"each fits alone":   {both - 1, false, false, true},
		"the taints do not": {taints - 1, true, false, false},
		"neither fits":      {10, true, true, false},
	} {
		n := aNode(t, "a", "gpu")
		n.OtherAnnotations = record.Most - tt.room
		nodes, labels := PlanNodes([]*snapshot.Node{n}, d), PlanLabels([]*snapshot.Node{n}, l)
		for which, is := range map[string]struct {
			refusals []Refusal
			want     bool
		}{"taints": {nodes.Refusals, tt.taints}, "labels": {labels.Refusals, tt.labels}, "together": {TooLarge(nodes, labels), tt.together}} {
			if (len(is.refusals) > 0) != is.want {
				t.Errorf("%s: the %s are refused with %+v", name, which, is.refusals)
			}
			for _, r := range is.refusals {
				if r.Node != "a" || !strings.Contains(r.Why, "would have") || !strings.Contains(r.Why, "fewer taints and labels") {
					t.Errorf("%s: the refusal is %+v", name, r)
				}
			}
		}
	}
}

// A node that loses its taints needs no room, and one that is in sync is not written.
func TestTooLarge_refusesNothingThatNeedsNoRoom(t *testing.T) {
	t.Parallel()
	full := aNode(t, "a", "gpu", "*x:NoExecute")
	full.OtherAnnotations = record.Most
	same := desire(t, pool(t, "gpu"), "x:NoExecute")
	destroy := same
	destroy.Claim.Release = true
	for name, d := range map[string]NodeTaints{"in sync": same, "a destroy": destroy, "a node that leaves": desire(t, pool(t, "web"), "x:NoExecute")} {
		if got := PlanNodes([]*snapshot.Node{full}, d).Refusals; len(got) > 0 {
			t.Errorf("%s: refused with %+v", name, got)
		}
	}
}

// TestStep_TooLarge: a workload's records of tolerations and node selectors share the room for annotations.
func TestStep_TooLarge(t *testing.T) {
	t.Parallel()
	pins := label.Record{{Key: "pool", Owner: "me", Generation: "g2"}}
	web := aWorkload(t, "Deployment", "web")
	web.LabelRecord = pins
	tolerations := aWorkload(t, "Deployment", "web", "*x=1:NoExecute").Record
	alone := len(toleration.OwnedAnnotation) + len(tolerations.String())
	both := alone + len(label.OwnedAnnotation) + len(pins.String())
	for name, tt := range map[string]struct {
		room int
		pins label.Merged
		want bool
	}{
		"both fit":                       {both, label.Merged{}, false},
		"both do not":                    {both - 1, label.Merged{}, true},
		"the node selector is given up":  {both - 1, label.Merged{Changed: true}, false},
		"the node selector is a new one": {alone, label.Merged{Changed: true, Record: pins}, true},
		"the tolerations alone do not":   {alone - 1, label.Merged{Changed: true}, true},
	} {
		web.OtherAnnotations = record.Most - tt.room
		step := Step{Kind: Expand, Workload: web, Merged: toleration.Merged{Record: tolerations}, Pins: tt.pins}
		if why := step.TooLarge(); (why != "") != tt.want {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// TestStep_TooLarge_agreesForAComponent: its records stand at keys that end in its name, beside what stands at those
// of the whole object.
func TestStep_TooLarge_agreesForAComponent(t *testing.T) {
	t.Parallel()
	ref := workload.Ref{APIVersion: "v1", Kind: "ConfigMap", Namespace: "openshift-monitoring", Name: "cluster-monitoring-config", Component: "prometheusK8s"}
	pins := label.Record{{Key: "pool", Owner: "me", Generation: "g2"}}
	written := map[string]string{
		toleration.OwnedAnnotation + ".prometheusK8s": aWorkload(t, "Deployment", "web", "*x=1:NoExecute").Record.String(), label.OwnedAnnotation + ".prometheusK8s": pins.String(),
	}
	for name, others := range map[string]map[string]string{
		"nothing else":                    {},
		"a record of another component":   {toleration.OwnedAnnotation + ".thanosQuerier": "[]"},
		"a record of the whole object":    {toleration.OwnedAnnotation: "[]"},
		"the record as it is, which goes": {toleration.OwnedAnnotation + ".prometheusK8s": "[]"},
	} {
		for beyond := range 2 {
			all := maps.Clone(others)
			all["filler"] = ""
			maps.Copy(all, written)
			room := record.Most - annotations.Others(all) + beyond
			before := maps.Clone(others)
			before["filler"] = strings.Repeat("x", room)
			object := workload.NoConfig(ref)
			object.SetAnnotations(before)
			w, err := workload.ObserveComponent(object, ref)
			if err != nil {
				t.Fatal(err)
			}
			step := Step{Kind: Expand, Workload: w, Merged: toleration.Merged{Record: aWorkload(t, "Deployment", "web", "*x=1:NoExecute").Record}, Pins: label.Merged{Changed: true, Record: pins}}
			all["filler"] = before["filler"]
			refused := validation.ValidateAnnotationsSize(all) != nil
			if why := step.TooLarge(); (why != "") != refused || refused != (beyond == 1) || refused && !strings.Contains(why, toleration.OwnedAnnotation+".prometheusK8s would have") {
				t.Errorf("%s, %d bytes beyond the limit: %q, and the API server refuses it: %t", name, beyond, why, refused)
			}
		}
	}
}
