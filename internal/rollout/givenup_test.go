// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package rollout

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/kube"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/machineset"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/planner"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/taint"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// adopting owns team=a:NoSchedule of the nodes of the MachineSet.
func adopting() planner.NodeTaints {
	return planner.NodeTaints{
		Target: planner.Target{Selector: labels.SelectorFromSet(labels.Set{controllers.PoolLabel: "pool"})},
		Claim:  taint.Claim{Owner: "me", Generation: generation, Taints: []corev1.Taint{parsed("team=a:NoSchedule")}, Adopt: true},
	}
}

// releasing gives it up, with the Machines and MachineSets as they are.
func releasing(t *testing.T, cluster *kube.Cluster) planner.NodeTaints {
	t.Helper()
	desired := adopting()
	desired.Claim.Release = true
	machines, err := cluster.Machines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sets, err := cluster.MachineSets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	desired.Machines, desired.Sets = machines, map[types.UID]*machineset.Set{}
	for _, o := range sets {
		desired.Sets[o.Set.UID] = o.Set
	}
	return desired
}

// TestRun_removesAnAdoptedTaintFromTheMachineFirst and then from the node, whatever other clients write
// meanwhile. The other taint of both has no owner and stays.
func TestRun_removesAnAdoptedTaintFromTheMachineFirst(t *testing.T) {
	t.Parallel()
	const (
		machine, node = "patch machines", "patch nodes"
		removed       = "pool-000 with foreign:NoSchedule, node with foreign:NoSchedule"
		kept          = "pool-000 with foreign:NoSchedule team=a:NoSchedule, node with foreign:NoSchedule team=a:NoSchedule"
	)
	// owned gives the taint an owner in the MachineSet.
	owned := func(w *machineWorld) {
		w.edit(annotated(taint.OwnedAnnotation, taint.Record{{Key: "team", Effect: "NoSchedule", Owner: "other", Generation: "g9"}}.String()))
	}
	// onNode gives the node the taint, as nodelink or another client does, and onMachine the Machine.
	onNode := func(w *machineWorld) {
		fakeapi.Edit(w.api, "", "pool-000", func(n *corev1.Node) { n.Spec.Taints = append(n.Spec.Taints, parsed("team=a:NoSchedule")) })
	}
	onMachine := func(w *machineWorld) {
		m := w.machines()[0]
		list, _, _ := unstructured.NestedSlice(m.Object, "spec", "taints")
		_ = unstructured.SetNestedSlice(m.Object, append(list, map[string]any{"key": "team", "value": "a", "effect": "NoSchedule"}), "spec", "taints")
		w.api.Put(m)
	}
	for name, tt := range map[string]struct {
		// before decides about a write, after is called once it is carried out.
		before func(w *machineWorld, r fakeapi.Request, nth int) int
		after  func(w *machineWorld, r fakeapi.Request, nth int)
		state  string
		record bool
		done   []string
		says   string
	}{
		"the Machine is written before the node": {state: removed, done: []string{machine, node}},
		"what nodelink restores late is removed again": {
			after: func(w *machineWorld, r fakeapi.Request, nth int) {
				if r.Resource == "nodes" && nth == 2 {
					onNode(w)
				}
			}, state: removed, done: []string{machine, node, node},
		},
		"what another client restores again and again ends the run": {
			after: func(w *machineWorld, r fakeapi.Request, _ int) {
				if r.Resource == "nodes" {
					onNode(w)
				}
			}, state: "pool-000 with foreign:NoSchedule, node with foreign:NoSchedule team=a:NoSchedule",
			done: append([]string{machine}, times(maxRounds+1, node)...), says: `keeps reverting what is written to Node "pool-000"`,
		},
		"what another client gives the Machine later stays": {
			after: func(w *machineWorld, r fakeapi.Request, _ int) {
				if r.Resource == "nodes" {
					onMachine(w)
					onNode(w)
				}
			}, state: kept, done: []string{machine, node},
		},
		"a Machine that another client writes is written again": {
			before: func(_ *machineWorld, _ fakeapi.Request, nth int) int { return map[int]int{1: http.StatusConflict}[nth] },
			state:  removed, done: []string{machine, node},
		},
		"a Machine that another client writes before each write ends it, and keeps its node as it is": {
			before: func(*machineWorld, fakeapi.Request, int) int { return http.StatusConflict },
			state:  kept, record: true, says: `another client changes Machine "openshift-machine-api/pool-000" before each write`,
		},
		"a taint that gets an owner in the MachineSet meanwhile stays": {
			before: func(w *machineWorld, _ fakeapi.Request, nth int) int {
				if nth > 1 {
					return 0
				}
				owned(w)
				return http.StatusConflict
			}, state: kept, done: []string{node},
		},
		"a Machine that is gone keeps nothing": {
			before: func(w *machineWorld, _ fakeapi.Request, nth int) int {
				if nth > 1 {
					return 0
				}
				w.api.Delete(w.machines()[0])
				return http.StatusNotFound
			}, done: []string{node},
		},
		"a Machine that may not be written keeps its node as it is": {
			before: func(*machineWorld, fakeapi.Request, int) int { return http.StatusForbidden },
			state:  kept, record: true, says: "injected by the test",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newMachineWorld(t, 1, "foreign:NoSchedule", "team=a:NoSchedule")
				w.run()
				cluster := w.follow(t)
				adopt := adopting()
				if _, err := carry(t.Context(), cluster, Request{Nodes: &adopt}, hooks{}); err != nil {
					t.Fatal(err)
				}
				w.done, w.tried = nil, 0
				if tt.before != nil {
					w.before = func(r fakeapi.Request, nth int) int { return tt.before(w, r, nth) }
				}
				if tt.after != nil {
					w.after = func(r fakeapi.Request, nth int) { tt.after(w, r, nth) }
				}
				desired := releasing(t, cluster)
				_, err := carry(t.Context(), cluster, Request{Nodes: &desired}, hooks{})
				if (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
					t.Errorf("it ends with %v, want %q", err, tt.says)
				}
				if diff := cmp.Diff(tt.done, w.done); diff != "" || w.tried > maxConflicts+10 {
					t.Errorf("%d writes were tried: %s", w.tried, diff)
				}
				time.Sleep(10 * time.Second)
				if state := w.state()[1:]; tt.state != "" && !cmp.Equal([]string{tt.state}, state) {
					t.Errorf("the end is %v, want %s", state, tt.state)
				}
				for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
					if recorded := n.Annotations[taint.OwnedAnnotation] != ""; tt.state != "" && recorded != tt.record {
						t.Errorf("node %s has a record: %t", n.Name, recorded)
					}
				}
			})
		})
	}
}

// TestRun_aTaintOwnedInTheMachineSetSinceThePlanStays on the Machine and on its node.
func TestRun_aTaintOwnedInTheMachineSetSinceThePlanStays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newMachineWorld(t, 2, "team=a:NoSchedule")
		w.run()
		cluster := w.follow(t)
		adopt := adopting()
		if _, err := carry(t.Context(), cluster, Request{Nodes: &adopt}, hooks{}); err != nil {
			t.Fatal(err)
		}
		desired := releasing(t, cluster)
		w.edit(annotated(taint.OwnedAnnotation, taint.Record{{Key: "team", Effect: "NoSchedule", Owner: "other", Generation: "g9"}}.String()))
		w.done = nil
		if _, err := carry(t.Context(), cluster, Request{Nodes: &desired}, hooks{}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"patch nodes", "patch nodes"}, w.done); diff != "" {
			t.Errorf("writes: %s", diff)
		}
		for _, n := range fakeapi.Objects[*corev1.Node](w.api) {
			if got := taint.FormatAll(n.Spec.Taints); got != "team=a:NoSchedule" || n.Annotations[taint.OwnedAnnotation] != "" {
				t.Errorf("node %s has %s and the record %q", n.Name, got, n.Annotations[taint.OwnedAnnotation])
			}
		}
	})
}
