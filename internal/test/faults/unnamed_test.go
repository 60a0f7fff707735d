// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestUnnamedEntries has a plan remove what its attributes do not show: what an interrupted update has
// left, and what a node has that does not match any more. The plan names the entries and the nodes.
func TestUnnamedEntries(t *testing.T) {
	t.Parallel()
	config := func(typeName, key string) map[string]any {
		out := object{"node_selector": "pool=x", "taints": []any{taint(key, "a", "NoSchedule")}, "evictions": object{"stranded": "evict"}}
		if typeName == "dedicated_nodes" {
			out["labels"] = object{key: "a"}
		}
		return out
	}
	for _, typeName := range []string{"node_taints", "dedicated_nodes"} {
		start := func(t *testing.T, api *fakeapi.Server) *acctest.Instance {
			t.Helper()
			threeOfEach(api)
			time.Sleep(calm)
			i := &acctest.Instance{Type: "kubetaint_" + typeName}
			if d := through(api.Client()).Apply(t, i, config(typeName, "more")); d.Errors()+d.Warnings() != "" {
				t.Fatal(d.Errors(), d.Warnings())
			}
			time.Sleep(calm)
			return i
		}
		names := func(t *testing.T, told, key string) {
			t.Helper()
			// Nodes are written in parallel: the process dies after the first write of one, or of both.
			if !regexp.MustCompile(`(taint ` + key + `:NoSchedule|label ` + key + `): nodes? n`).MatchString(told) {
				t.Errorf("%s is not named: %q", key, told)
			}
		}
		t.Run(typeName+" leaves", func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				i := start(t, api)
				fakeapi.Edit(api, "", "n1", func(n *corev1.Node) { n.Labels["pool"] = "y" })
				time.Sleep(calm)
				told := through(api.Client()).Plan(t, i, config(typeName, "more")).Diagnostics.Warnings()
				if names(t, told, "more"); strings.Contains(told, "n2") {
					t.Errorf("n2 loses nothing: %q", told)
				}
			})
		})
		t.Run(typeName+" interrupted", func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				i := start(t, api)
				killed, client := *i, api.Client()
				planned := through(client).Plan(t, &killed, config(typeName, "spot"))
				if told := planned.Diagnostics.Warnings(); strings.Contains(told, "beyond the changed attributes") {
					t.Errorf("the attributes show what this update removes: %q", told)
				}
				client.OnAnswer(func(q fakeapi.Request, _ int) {
					if q.Write() {
						client.Kill()
					}
				})
				through(client).Carry(t, &killed, planned, config(typeName, "spot"))
				time.Sleep(calm)
				names(t, through(api.Client()).Plan(t, i, config(typeName, "more")).Diagnostics.Warnings(), "spot")
			})
		})
	}
}

// TestUnnamedEntries_ofEachType has an update killed before its state was saved. The next plan wants
// something else, or destroys the resource, and names what the update has left.
func TestUnnamedEntries_ofEachType(t *testing.T) {
	t.Parallel()
	web := object{"kind": "Deployment", "namespace": "shop", "name": "web"}
	shopOf := func(api *fakeapi.Server) { shop("Deployment")(api) }
	for name, tt := range map[string]struct {
		world func(*fakeapi.Server)
		conf  func(key string) map[string]any
		want  []string
	}{
		"node_taints": {twoNodes, func(key string) map[string]any {
			return object{"node_name": "n1", "taints": []any{taint(key, "a", "NoSchedule")}}
		}, []string{"from 1 node", "taint spot:NoSchedule: node n1"}},
		"machine_set_taints": {pool, func(key string) map[string]any {
			return object{"namespace": "machines", "name": "ms", "taints": []any{taint(key, "a", "NoSchedule")}, "rollout": rollouts["in_place"]}
		}, []string{"from 1 MachineSet", "taint spot:NoSchedule: MachineSet machines/ms"}},
		"dedicated_nodes, machine_sets": {pool, func(key string) map[string]any {
			return object{
				"machine_sets": object{"namespace": "machines", "name": "ms", "rollout": rollouts["in_place"]},
				"taints":       []any{taint(key, "a", "NoSchedule")}, "labels": object{key: "a"},
			}
		}, []string{"from 1 MachineSet", "label spot: MachineSet machines/ms", "taint spot:NoSchedule: MachineSet machines/ms"}},
		"dedicated_nodes, workloads": {shopOf, func(key string) map[string]any {
			out := object{"node_selector": "pool=x", "taints": []any{taint("team", "a", "NoSchedule")}, "labels": object{"team": "a"}, "evictions": object{"stranded": "evict"}}
			if key == "spot" {
				out["workloads"] = []any{object{"kind": "Deployment", "namespace": "shop", "name": "web", "pin": true}}
			} else {
				out["labels"] = object{"team": key}
			}
			return out
		}, []string{"from 1 workload", "node selector team: workload Deployment/shop/web", "toleration team=a:NoSchedule: workload Deployment/shop/web"}},
		"workload_tolerations": {shopOf, func(key string) map[string]any { return tolerating(web, key) },
			[]string{"from 1 workload", "toleration spot=a: workload Deployment/shop/web"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
				tt.world(api)
				time.Sleep(calm)
				typeName, _, _ := strings.Cut(name, ",")
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
				apply := func(i *acctest.Instance, key string) {
					t.Helper()
					d := tf.Apply(t, i, tt.conf(key))
					if d.Errors() != "" || strings.Contains(d.Warnings(), "beyond the changed attributes") {
						t.Fatal(d.Errors(), d.Warnings())
					}
					time.Sleep(calm)
				}
				apply(i, "more")
				killed := *i
				apply(&killed, "spot")
				for _, next := range []map[string]any{tt.conf("other"), nil} {
					acctest.WantAll(t, through(api.Client()).Plan(t, i, next).Diagnostics.Warnings(), append(tt.want, "beyond the changed attributes")...)
				}
			})
		})
	}
}

// TestUnnamedEntries_ofASetThatLeaves: a MachineSet leaves the selector, and the plan names what it gives up.
func TestUnnamedEntries_ofASetThatLeaves(t *testing.T) {
	t.Parallel()
	for typeName, conf := range map[string]object{
		"machine_set_taints": {"namespace": "machines", "selector": "tier=gpu", "taints": []any{taint("team", "a", "NoSchedule")}, "rollout": rollouts["in_place"]},
		"dedicated_nodes": {
			"machine_sets": object{"namespace": "machines", "selector": "tier=gpu", "rollout": rollouts["in_place"]},
			"taints":       []any{taint("team", "a", "NoSchedule")}, "labels": object{"team": "a"},
		},
	} {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New(controllers.MachineAPI...)}, func(t *testing.T, api *fakeapi.Server) {
				pool(api)
				relabel := func(tier string) {
					editSets(api, "ms", func(u *unstructured.Unstructured) { u.SetLabels(map[string]string{"tier": tier}) })
					time.Sleep(calm)
				}
				relabel("gpu")
				i := &acctest.Instance{Type: "kubetaint_" + typeName}
				if d := through(api.Client()).Apply(t, i, conf); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				relabel("cpu")
				want := []string{"taint team:NoSchedule: MachineSet machines/ms"}
				if typeName == "dedicated_nodes" {
					want = append(want, "label team: MachineSet machines/ms")
				}
				acctest.WantAll(t, through(api.Client()).Plan(t, i, conf).Diagnostics.Warnings(), append(want, "beyond the changed attributes, from 1 MachineSet")...)
			})
		})
	}
}
