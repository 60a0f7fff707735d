// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	machinev1beta1 "github.com/openshift/api/machine/v1beta1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// adoptedFromMachines adopts a taint of two nodes that their Machines have. The second configuration
// leaves out one node.
func adoptedFromMachines() subject {
	adopting := func(selector string, taints ...any) object {
		return object{"node_selector": selector, "on_conflict": "adopt", "taints": taints}
	}
	return subject{
		typeName: "node_taints", strategy: fromMachines, kinds: controllers.MachineAPI, world: twoMachines,
		first:  adopting("pool=x", taint("team", "a", "NoSchedule")),
		second: adopting("pool=x,zone!=b", taint("team", "a", "NoSchedule"), taint("extra", "", "NoSchedule")),
	}
}

const fromMachines = "adopted from Machines"

// twoMachines are those of a MachineSet, with their nodes. All have the taint that is adopted, and one
// that is not owned.
func twoMachines(api *fakeapi.Server) {
	team := corev1.Taint{Key: "team", Value: "a", Effect: corev1.TaintEffectNoSchedule}
	set := setOf("ms", 2, taint("team", "a", "NoSchedule"))
	set.SetUID("uid-of-ms")
	api.Add(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "machines"}}, set)
	template, _, _ := unstructured.NestedMap(set.Object, "spec", "template", "spec")
	for name, zone := range map[string]string{"n1": "a", "n2": "b"} {
		n := node(name, map[string]string{"pool": "x", "zone": zone}, foreign, team)
		n.Annotations["machine.openshift.io/machine"] = "machines/" + name
		m := &unstructured.Unstructured{Object: map[string]any{
			"spec": template, "status": map[string]any{"phase": "Running", "nodeRef": map[string]any{"kind": "Node", "name": name}},
		}}
		m.SetGroupVersionKind(machinev1beta1.GroupVersion.WithKind("Machine"))
		m.SetNamespace("machines")
		m.SetName(name)
		m.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(set, set.GroupVersionKind())})
		api.Add(n, m)
	}
}

// TestFaults_aTaintIsNeverLeftOnTheMachineAlone, from which nodelink would restore it: neither after a
// write nor in the end, wherever the update or the destroy that gives it up is killed. What the Machines
// and nodes have besides stays.
func TestFaults_aTaintIsNeverLeftOnTheMachineAlone(t *testing.T) {
	t.Parallel()
	s := adoptedFromMachines()
	for _, o := range s.operations()[1:] {
		t.Run(o.name, func(t *testing.T) {
			t.Parallel()
			st := prepare(t, s, o)
			kept := map[string]string{"update": "n1"}[o.name]
			points := slices.Concat(st.undisturbed.before, st.undisturbed.after)
			for n, m := range points {
				t.Run(fmt.Sprintf("killed at point %d of %d", n+1, len(points)), func(t *testing.T) {
					wantOrder(t, m.api)
					bubble(t, m, func(t *testing.T, api *fakeapi.Server) {
						client, i := api.Client(), st.instance
						var mu sync.Mutex
						client.OnAnswer(func(q fakeapi.Request, _ int) {
							if q.Write() {
								mu.Lock()
								defer mu.Unlock()
								wantOrder(t, api)
							}
						})
						mustApply(t, through(client), &i, o.to)
						wantTeamOn(t, api, kept)
						time.Sleep(calm)
						wantTeamOn(t, api, kept)
					})
				})
			}
		})
	}
}

// wantOrder fails where a node has lost the taint before its Machine.
func wantOrder(t *testing.T, api *fakeapi.Server) {
	t.Helper()
	nodes := taintsOfNodes(api)
	for name, taints := range taintsOfMachines(api) {
		if strings.Contains(taints, "team") && !strings.Contains(nodes[name], "team") {
			t.Errorf("Machine %s has %q, and its node %q", name, taints, nodes[name])
		}
	}
}

// wantTeamOn wants the adopted taint on one node and its Machine alone, "" for none, and the foreign one
// on all of them. The template keeps both.
func wantTeamOn(t *testing.T, api *fakeapi.Server, kept string) {
	t.Helper()
	nodes, machines := taintsOfNodes(api), taintsOfMachines(api)
	if len(nodes) != 2 || len(machines) != 2 {
		t.Fatalf("there are %d nodes and %d machines", len(nodes), len(machines))
	}
	for name := range machines {
		for what, taints := range map[string]string{"node": nodes[name], "Machine": machines[name]} {
			if strings.Contains(taints, "team") != (name == kept) || !strings.Contains(taints, "foreign") {
				t.Errorf("%s %s has %q", what, name, taints)
			}
		}
	}
	for _, set := range api.Custom(machinev1beta1.GroupVersion.WithResource("machinesets")) {
		if list, _, _ := unstructured.NestedSlice(set.Object, "spec", "template", "spec", "taints"); len(list) != 2 {
			t.Errorf("the template has %v", list)
		}
	}
}

// taintsOfNodes returns the keys of the nodes' taints by name.
func taintsOfNodes(api *fakeapi.Server) map[string]string {
	out := map[string]string{}
	for _, n := range fakeapi.Objects[*corev1.Node](api) {
		keys := make([]string, len(n.Spec.Taints))
		for i, t := range n.Spec.Taints {
			keys[i] = t.Key
		}
		out[n.Name] = strings.Join(keys, " ")
	}
	return out
}

// taintsOfMachines returns the taints of the Machines by name.
func taintsOfMachines(api *fakeapi.Server) map[string]string {
	out := map[string]string{}
	for _, m := range api.Custom(controllers.Machines) {
		list, _, _ := unstructured.NestedSlice(m.Object, "spec", "taints")
		out[m.GetName()] = fmt.Sprint(list...)
	}
	return out
}
