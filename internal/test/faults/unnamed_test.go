// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
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
			if !strings.Contains(told, "taint "+key+":NoSchedule: node n") && !strings.Contains(told, "label "+key+": node n") {
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
