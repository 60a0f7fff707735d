// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi/controllers"
)

// TestUnnamedEntries_ofADestroy does the same, and the next plan is of a destroy.
func TestUnnamedEntries_ofADestroy(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		world func(*fakeapi.Server)
		conf  func(key string) map[string]any
		want  []string
	}{
		"node_taints": {twoNodes, func(key string) map[string]any {
			return object{"node_name": "n1", "taints": []any{taint(key, "a", "NoSchedule")}}
		}, []string{"from 1 node", "taint spot:NoSchedule"}},
		"machine_set_taints": {pool, func(key string) map[string]any {
			return object{"namespace": "machines", "name": "ms", "taints": []any{taint(key, "a", "NoSchedule")}, "rollout": rollouts["in_place"]}
		}, []string{"from 1 MachineSet", "taint spot:NoSchedule: MachineSet machines/ms"}},
		"dedicated_nodes, machine_sets": {pool, func(key string) map[string]any {
			return object{
				"machine_sets": object{"namespace": "machines", "name": "ms", "rollout": rollouts["in_place"]},
				"taints":       []any{taint(key, "a", "NoSchedule")}, "labels": object{key: "a"},
			}
		}, []string{"from 1 MachineSet", "label spot: MachineSet machines/ms", "taint spot:NoSchedule: MachineSet machines/ms"}},
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
				acctest.WantAll(t, through(api.Client()).Plan(t, i, nil).Diagnostics.Warnings(), tt.want[1:]...)
			})
		})
	}
}
