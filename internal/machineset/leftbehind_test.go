// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package machineset

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/record"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/snapshot"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
)

// TestLeftBehind: the record must hold these taints, since nothing else in the cluster shows their
// owner.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	const left = "team=a:NoSchedule"
	for name, tt := range map[string]struct {
		template, machine, node   string
		marked, damaged, deleting bool
		another                   bool
		want                      string
	}{
		"what a machine still has":                {machine: left, want: left},
		"what its node alone still has":           {node: left, want: left},
		"not what the template has again":         {template: "team=b:NoSchedule", machine: left},
		"not what the template has again first":   {template: "team=b:NoSchedule other:NoSchedule", machine: left},
		"not what no machine has":                 {machine: "other:NoSchedule", node: "other:NoSchedule"},
		"not what is marked on a node":            {node: left, marked: true},
		"not on a node whose record is damaged":   {node: left, damaged: true},
		"not what goes with a machine":            {machine: left, node: left, deleting: true},
		"not what another machine has since":      {machine: left, node: left, another: true},
		"not what has another value since":        {machine: "team=b:NoSchedule", node: "team=b:NoSchedule"},
		"not another effect of the same key":      {machine: "team=a:NoExecute"},
		"whatever others have put on the machine": {machine: "vendor=x:NoSchedule team=a:NoSchedule", node: "vendor=x:NoSchedule", want: left},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			n := &snapshot.Node{Name: "n", Taints: taintsOf(t, tt.node)}
			if tt.marked {
				n.Record = taint.Record{{Key: "team", Effect: "NoSchedule", Owner: "terraform/x"}}
			}
			if tt.damaged {
				n.RecordErr = errors.New("damaged")
			}
			m := &Machine{Name: "m", UID: "m-uid", Node: "n", Taints: taintsOf(t, tt.machine), Deleting: tt.deleting}
			if tt.another {
				m.UID = "another"
			}
			o := Observed{Set: &Set{UID: "u", Taints: taintsOf(t, tt.template)}, Machines: []*Machine{m}, Nodes: map[string]*snapshot.Node{"n": n}}
			d := desire(t, InPlace, "crew=a:NoSchedule")
			o.Set.Remnants = Remnants{"m-uid": taintsOf(t, left)}.record(d.Claim.On(o.Set.Object()), nil)
			got := taint.FormatAll(LeftBehind(o, d)[m.UID])
			if got != tt.want {
				t.Errorf("left behind are %q, want %q", got, tt.want)
			}
			if remaining := taint.FormatAll(Remaining(o, d)[m.UID]); tt.template == "" && remaining != tt.want {
				t.Errorf("remaining are %q, want %q", remaining, tt.want)
			}
			if tt.deleting {
				return
			}
			// The writes of a rollout remove it, and nothing else that is not owned.
			template := d.Merge(o.Set).on(m, n)
			others := func(list []corev1.Taint) string {
				return taint.FormatAll(slices.DeleteFunc(slices.Clone(list), func(one corev1.Taint) bool { return one.Key == "crew" || tt.want != "" && taint.Format(one) == left }))
			}
			machine, node := template.Apply(m.Taints), template.of(n).Apply(n.Taints)
			if tt.template == "" && (others(machine) != others(m.Taints) || len(machine) != strings.Count(others(m.Taints), ":")+1) {
				t.Errorf("the machine had %s, and would have %s", taint.FormatAll(m.Taints), taint.FormatAll(machine))
			}
			m.Taints, n.Taints = machine, node
			if after := LeftBehind(o, d); len(after) > 0 {
				t.Errorf("left behind after a rollout are still %v", after)
			}
		})
	}
}

// TestDesired_ofOtherMachineSets: a mark on a MachineSet that is not meant counts by its proof
// alone, whatever entry it is about.
func TestDesired_ofOtherMachineSets(t *testing.T) {
	t.Parallel()
	d := desire(t, InPlace, "team=a:NoSchedule")
	d.Claim.Seal = record.Seal{Nonce: "nonce"}
	forged := taint.Record{{Key: "team", Effect: "NoSchedule", Owner: d.Claim.Owner, Generation: d.Claim.Generation}}
	o := Observed{Set: &Set{Namespace: "other", Name: "gpu", Taints: taintsOf(t, "team=x:NoSchedule"), Record: forged}}
	of := d.Of(o.Set, Target{Namespace: "openshift-machine-api", Name: "gpu"})
	if of.Owns(o.Set) {
		t.Error("a mark without a proof is taken for ours")
	}
	if again := of.Of(o.Set, Target{Namespace: "openshift-machine-api", Name: "gpu"}); !of.Unselected || again.Unselected {
		t.Errorf("it is given up because it is not selected: %t, and where a destroy does that: %t", of.Unselected, again.Unselected)
	}
	if merged := of.Merge(o.Set); taint.FormatAll(merged.Taints) != "team=x:NoSchedule" {
		t.Errorf("the template would have %s", taint.FormatAll(merged.Taints))
	}
}
