// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/label"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// labelling is the change that gives the label tier to the nodes of the MachineSet of this
// name, or takes it away.
func labelling(name, value string) Request {
	claim := label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"tier": value}, Release: value == ""}
	desired := rollingOut(machineset.TemplateOnly)
	desired.Claim.Taints, desired.Claim.Release = nil, claim.Release
	return Request{
		MachineSets: &planner.DesiredSets{Target: machineset.Target{Namespace: machineset.OperatorNamespace, Name: name}, Desired: desired, Labels: claim},
		Machines:    Machines{Slots: &Slots{}},
	}
}

// labels tells the label of the template, the machines and their nodes, with a "*" where we
// own that of the template.
func (w *machineWorld) labels() string {
	nested := func(u *unstructured.Unstructured, path ...string) string {
		value, there, _ := unstructured.NestedString(u.Object, append(path, "tier")...)
		return map[bool]string{false: "-", true: value}[there]
	}
	s := w.sets()[0]
	out := nested(s, "spec", "template", "spec", "metadata", "labels")
	if record, _ := label.ParseRecord(s.GetAnnotations()[label.OwnedAnnotation]); len(record) > 0 {
		out = "*" + out
	}
	for _, m := range w.machines() {
		out += "/" + nested(m, "spec", "metadata", "labels")
	}
	for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
		value, there := n.Labels["tier"]
		out += "/" + map[bool]string{false: "-", true: value}[there]
	}
	return out
}

func TestRun_labelsTheNodesOfMachineSets(t *testing.T) {
	t.Parallel()
	const set, machine, node = "patch machinesets", "patch machines", "patch nodes"
	relabel := func(w *machineWorld, name, value string) {
		fakeapi.Edit(w.api, "", name, func(n *corev1.Node) { n.Labels["tier"] = value })
	}
	damaged := func(w *machineWorld) {
		fakeapi.Edit(w.api, "", "pool-001", func(n *corev1.Node) { n.Annotations[label.OwnedAnnotation] = "{" })
	}
	// machineLabel is a write of another client to the label of a Machine.
	machineLabel := func(w *machineWorld, value string) {
		m := w.machines()[0]
		_ = unstructured.SetNestedField(m.Object, value, "spec", "metadata", "labels", "tier")
		w.api.Put(m)
	}
	for name, tt := range map[string]struct {
		// first are the values that are carried out before the change, one after the other.
		first   []string
		prepare func(w *machineWorld)
		before  func(w *machineWorld, r fakeapi.Request, nth int) int
		after   func(w *machineWorld, r fakeapi.Request)
		set     string
		value   string

		labels string
		done   []string
		says   string
	}{
		"the template comes first, then the machines, then their nodes":                {value: "a", labels: "*a/a/a/a/a", done: []string{set, machine, machine, node, node}},
		"what is as wanted is not written":                                             {first: []string{"a"}, value: "a", labels: "*a/a/a/a/a"},
		"a value changes everywhere":                                                   {first: []string{"a"}, value: "b", labels: "*b/b/b/b/b", done: []string{set, machine, machine, node, node}},
		"what goes leaves the template, the machines, their nodes, and at last a mark": {first: []string{"a"}, labels: "-/-/-/-/-", done: []string{set, machine, machine, node, node, set}},
		"a label of another owner on a node stops it before the first write": {
			value: "a", prepare: func(w *machineWorld) { relabel(w, "pool-001", "other") }, labels: "-/-/-/-/other", says: `label "tier" of node "pool-001" has another owner`,
		},
		"a node whose record cannot be read is skipped with its machine":                               {value: "a", labels: "*a/a/-/a/-", prepare: damaged, done: []string{set, machine, node}},
		"a node whose record cannot be read is skipped whatever its label":                             {value: "a", labels: "*a/a/-/a/other", done: []string{set, machine, node}, prepare: func(w *machineWorld) { damaged(w); relabel(w, "pool-001", "other") }},
		"a record of a node that cannot be read stops it before the first write where all is given up": {first: []string{"a"}, labels: "*a/a/a/a/a", prepare: damaged, says: label.OwnedAnnotation},
		"a record of the MachineSet that cannot be read stops it before the first write": {
			value: "a", prepare: func(w *machineWorld) { w.edit(annotated(label.OwnedAnnotation, "{")) }, labels: "-/-/-/-/-", says: label.OwnedAnnotation,
		},
		"a MachineSet that is not there gets nothing":        {set: "none", value: "a", labels: "-/-/-/-/-", says: "MachineSet " + machineset.OperatorNamespace + "/none is not there"},
		"a MachineSet that is not there has nothing to lose": {set: "none", labels: "-/-/-/-/-"},
		"what meets a write of another client is written again": {
			value: "a", before: func(_ *machineWorld, _ fakeapi.Request, nth int) int {
				return map[int]int{1: http.StatusConflict, 3: http.StatusConflict}[nth]
			},
			labels: "*a/a/a/a/a", done: []string{machine, set, machine, node, node},
		},
		"a machine that another client writes many times is written in the end": {
			value: "a", before: func(_ *machineWorld, _ fakeapi.Request, nth int) int {
				return map[bool]int{true: http.StatusConflict}[nth > 1 && nth < 50]
			},
			labels: "*a/a/a/a/a", done: []string{set, machine, machine, node, node},
		},
		"a machine that another client writes before each write ends it": {
			value: "a", before: func(_ *machineWorld, r fakeapi.Request, _ int) int {
				return map[bool]int{true: http.StatusConflict}[r.Resource == "machines"]
			},
			labels: "*a/-/-/-/-", done: []string{set}, says: `another client changes Machine "` + machineset.OperatorNamespace + `/pool-000" before each write`,
		},
		"a write that is refused ends it": {
			value: "a", before: func(_ *machineWorld, _ fakeapi.Request, nth int) int {
				return map[int]int{2: http.StatusForbidden}[nth]
			},
			labels: "*a/-/-/-/-", done: []string{set}, says: "injected by the test",
		},
		"a machine that another writer puts back again and again ends the run": {
			first: []string{"a"}, value: "b", after: func(w *machineWorld, r fakeapi.Request) {
				if r.Resource == "machines" && r.Name == "pool-000" {
					machineLabel(w, "c")
				}
			},
			labels: "*b/c/b/c/b", done: append([]string{set}, times(maxRounds+1, machine)...), says: `another controller keeps reverting what is written to Machine "` + machineset.OperatorNamespace + `/pool-000"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 2)
				w.run()
				cluster := w.follow(t)
				for _, value := range tt.first {
					if _, err := carry(t.Context(), cluster, labelling("pool", value), hooks{}); err != nil {
						t.Fatal(err)
					}
				}
				if tt.prepare != nil {
					tt.prepare(w)
					synctest.Wait()
				}
				w.done, w.tried = nil, 0
				if tt.before != nil {
					w.before = func(r fakeapi.Request, nth int) int { return tt.before(w, r, nth) }
				}
				if tt.after != nil {
					w.after = func(r fakeapi.Request, _ int) { tt.after(w, r) }
				}
				target := "pool"
				if tt.set != "" {
					target = tt.set
				}
				steps, err := carry(t.Context(), cluster, labelling(target, tt.value), hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				// The controllers have yet to see the last write of another writer.
				synctest.Wait()
				if w.labels() != tt.labels {
					t.Errorf("the labels are %s, want %s", w.labels(), tt.labels)
				}
				if diff := cmp.Diff(tt.done, w.done); diff != "" {
					t.Errorf("writes: %s", diff)
				}
				if tt.says == "" && (len(steps) > 0) != (len(tt.done) > 0) {
					t.Errorf("it took the steps %v", steps)
				}
			})
		})
	}
}

// TestRun_labelsNodes of a selector, and takes labels from them.
func TestRun_labelsNodes(t *testing.T) {
	t.Parallel()
	labelled := func(value string, ours bool) *corev1.Node {
		n := aNode("n1", "gpu")
		n.Labels["tier"] = value
		if ours {
			record := label.Record{{Key: "tier", Owner: "me", Generation: generation}}
			n.Annotations = map[string]string{label.OwnedAnnotation: record.String()}
		}
		return n
	}
	for name, tt := range map[string]struct {
		node   *corev1.Node
		value  string
		before func(a *testServer, nth int)
		// want is the label in the end, "-" for none.
		want   string
		writes int
		says   string
		step   string
	}{
		"a label comes":                    {node: aNode("n1", "gpu"), value: "a", want: "a", writes: 1, step: "label 1 node"},
		"a label that is there is left":    {node: labelled("a", false), value: "a", want: "a"},
		"a label of ours changes":          {node: labelled("a", true), value: "b", want: "b", writes: 1, step: "label 1 node"},
		"a label of ours goes":             {node: labelled("a", true), want: "-", writes: 1, step: "remove labels from 1 node"},
		"a label of another owner refuses": {node: labelled("a", false), value: "b", want: "a", says: "1 nodes must not be changed, the first is n1"},
		"a label that another writer gives between reading and writing refuses": {
			node: aNode("n1", "gpu"), value: "b", want: "a", writes: 1, says: "1 nodes must not be changed, the first is n1",
			before: func(a *testServer, _ int) { a.edit("n1", func(n *corev1.Node) { n.Labels["tier"] = "a" }) },
		},
		"a node that goes between reading and writing is left": {
			node: aNode("n1", "gpu"), value: "b", want: "", writes: 1, step: "label 1 node",
			before: func(a *testServer, _ int) { a.Remove(aNode("n1", "gpu")) },
		},
		"a node that has it by then is left": {
			node: aNode("n1", "gpu"), value: "a", want: "a", writes: 1, step: "label 1 node",
			before: func(a *testServer, _ int) { a.edit("n1", func(n *corev1.Node) { n.Labels["tier"] = "a" }) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				api := newServer(t, tt.node, aNode("n2", "web"))
				if tt.before != nil {
					api.before = func(_ string, nth int) int { tt.before(api, nth); return 0 }
				}
				claim := label.Claim{Owner: "me", Generation: generation, Labels: map[string]string{"tier": tt.value}, Release: tt.value == ""}
				steps, err := carry(t.Context(), api.follow(t, true), Request{Labels: &planner.NodeLabels{Target: tainting(teamA).Target, Claim: claim}}, hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				now := map[string]string{}
				for _, n := range fakeapi.Objects[*corev1.Node](api.Server) {
					value, there := n.Labels["tier"]
					now[n.Name] = map[bool]string{false: "-", true: value}[there]
				}
				want := map[string]string{"n1": tt.want, "n2": "-"}
				if tt.want == "" {
					delete(want, "n1")
				}
				if !maps.Equal(now, want) {
					t.Errorf("the labels are %v, want %v", now, want)
				}
				if begun, _ := api.writes(); len(begun) != tt.writes {
					t.Errorf("it wrote %v, want %d writes", begun, tt.writes)
				}
				if fmt.Sprint(steps) != "["+tt.step+"]" {
					t.Errorf("it took the steps %v, want %q", steps, tt.step)
				}
			})
		})
	}
}
