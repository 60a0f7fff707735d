// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package planner

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/toleration"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/workload"
)

// TestUnnamedInWorkloads leaves out what the attributes show, and what others have left behind: that is told
// with the taints that it goes with.
func TestUnnamedInWorkloads(t *testing.T) {
	t.Parallel()
	web := aWorkload(t, "Deployment", "web")
	removes := func(retained bool, notations ...string) Step {
		return Step{Kind: Contract, Workload: web, Retained: retained, Merged: toleration.Merged{Removed: tols(t, notations...)}, Pins: label.Merged{Removed: []string{"pool", "tier"}}}
	}
	named := func(ref workload.Ref) ([]toleration.ID, []string) {
		if ref != web.Ref {
			return nil, nil
		}
		return toleration.IDs(tols(t, "a=1:NoExecute")), []string{"pool"}
	}
	want := map[string][]string{"toleration b=1:NoExecute": {web.String()}, "node selector tier": {web.String()}}
	for name, tt := range map[string]struct {
		steps []Step
		want  map[string][]string
	}{
		"what is not named":           {[]Step{removes(false, "a=1:NoExecute", "b=1:NoExecute")}, want},
		"twice":                       {[]Step{removes(false, "b=1:NoExecute"), removes(false, "b=1:NoExecute")}, want},
		"what others have left":       {[]Step{removes(true, "b=1:NoExecute")}, map[string][]string{}},
		"steps that are about no one": {[]Step{{Kind: ApplyTaints}}, map[string][]string{}},
	} {
		if diff := cmp.Diff(tt.want, UnnamedInWorkloads(tt.steps, named)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUnnamed tells of what is removed from nodes that no longer match whatever names it: no attribute does there.
func TestUnnamed(t *testing.T) {
	t.Parallel()
	taints := func(name string, leaving bool, before, after []string) Switch {
		return Switch{Node: aNode(t, name, "gpu", before...), Merged: taint.Merged{Taints: taintsOf(t, after...)}, Leaving: leaving}
	}
	labelled := func(name string, leaving bool, removed ...string) LabelSwitch {
		return LabelSwitch{Node: aNode(t, name, "gpu"), Merged: label.Merged{Removed: removed}, Leaving: leaving}
	}
	for name, tt := range map[string]struct {
		taints []Switch
		labels []LabelSwitch
		want   map[string][]string
	}{
		"a taint that is named":                         {taints: []Switch{taints("n1", false, []string{"a:NoExecute"}, nil)}},
		"a taint that is not":                           {taints: []Switch{taints("n1", false, []string{"b:NoExecute", "c:NoExecute"}, []string{"c:NoExecute"})}, want: map[string][]string{"taint b:NoExecute": {"n1"}}},
		"a taint of another effect than the named one":  {taints: []Switch{taints("n1", false, []string{"a:NoSchedule"}, nil)}, want: map[string][]string{"taint a:NoSchedule": {"n1"}}},
		"a taint with a new value":                      {taints: []Switch{taints("n1", false, []string{"b=1:NoExecute"}, []string{"b=2:NoExecute"})}},
		"a named taint of a node that does not match":   {taints: []Switch{taints("n1", true, []string{"a:NoExecute"}, nil)}, want: map[string][]string{"taint a:NoExecute": {"n1"}}},
		"a label that is named":                         {labels: []LabelSwitch{labelled("n1", false, "pool")}},
		"a label that is not":                           {labels: []LabelSwitch{labelled("n1", false, "pool", "tier")}, want: map[string][]string{"label tier": {"n1"}}},
		"a named label of a node that does not match":   {labels: []LabelSwitch{labelled("n1", true, "pool")}, want: map[string][]string{"label pool": {"n1"}}},
		"names of nodes are sorted":                     {labels: []LabelSwitch{labelled("n2", false, "tier"), labelled("n1", true, "tier")}, want: map[string][]string{"label tier": {"n1", "n2"}}},
		"a node that gives up both is named under each": {[]Switch{taints("n1", true, []string{"b:NoExecute"}, nil)}, []LabelSwitch{labelled("n1", true, "tier")}, map[string][]string{"taint b:NoExecute": {"n1"}, "label tier": {"n1"}}},
	} {
		got := Unnamed(NodePlan{Switches: tt.taints}, LabelPlan{Switches: tt.labels}, taint.IDs(taintsOf(t, "a:NoExecute")), []string{"pool"})
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestUnnamedInSets has a MachineSet with the owned taints a and b and the owned labels pool and
// tier, beside foreign ones.
func TestUnnamedInSets(t *testing.T) {
	t.Parallel()
	own, foreign := taintsOf(t, "a:NoExecute", "b:NoExecute"), taintsOf(t, "x:NoExecute")
	const set = machineset.OperatorNamespace + "/gpu"
	everything := map[string][]string{"taint a:NoExecute": {set}, "taint b:NoExecute": {set}, "label pool": {set}, "label tier": {set}}
	for name, tt := range map[string]struct {
		taints  []string
		labels  map[string]string
		release bool
		target  *machineset.Target
		want    map[string][]string
	}{
		"what stays":                                {taints: []string{"a:NoExecute", "b:NoExecute"}, labels: map[string]string{"pool": "gpu", "tier": "x"}, target: machines("gpu", "")},
		"what is named and removed":                 {taints: []string{"b:NoExecute"}, labels: map[string]string{"tier": "x"}, target: machines("gpu", "")},
		"what is not named and removed":             {taints: []string{"a:NoExecute"}, labels: map[string]string{"pool": "gpu"}, target: machines("gpu", ""), want: map[string][]string{"taint b:NoExecute": {set}, "label tier": {set}}},
		"all of a MachineSet that does not match":   {release: true, target: machines("other", ""), want: everything},
		"all where nothing selects MachineSets now": {release: true, want: everything},
	} {
		now := &machineset.Set{Namespace: machineset.OperatorNamespace, Name: "gpu", Replicas: 1, Observed: true, Taints: slices.Concat(own, foreign), NodeLabels: map[string]string{"pool": "gpu", "tier": "x", "zone": "1"}}
		for _, x := range own {
			now.Record = append(now.Record, taint.Mark{Key: x.Key, Effect: x.Effect, Owner: "me", Generation: "g2"})
		}
		for _, key := range []string{"pool", "tier"} {
			now.LabelRecord = append(now.LabelRecord, label.Mark{Key: key, Owner: "me", Generation: "g2"})
		}
		change := SetChange{
			Observed: machineset.Observed{Set: now},
			Desired:  machineset.Desired{Claim: taint.Claim{Owner: "me", Generation: "g2", Taints: taintsOf(t, tt.taints...), Release: tt.release}},
			Labels:   label.Claim{Owner: "me", Generation: "g2", Labels: tt.labels, Release: tt.release},
		}
		got := UnnamedInSets(MachineSets{Sets: []SetChange{change}}, tt.target, taint.IDs(taintsOf(t, "a:NoExecute")), []string{"pool"})
		if diff := cmp.Diff(tt.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
