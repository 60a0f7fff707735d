// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package faults_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/fakeapi"
)

// TestRecovered_rememberTheirClusterFromTheRefreshOn: from then on, the state is refused on any other cluster.
func TestRecovered_rememberTheirClusterFromTheRefreshOn(t *testing.T) {
	t.Parallel()
	for typeName, config := range map[string]object{
		"node_taints":           {"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}},
		"dedicated_nodes":       {"node_selector": "pool=x", "taints": []any{taint("team", "a", "PreferNoSchedule")}},
		"workload_tolerations":  tolerating(object{"kind": "Deployment", "namespace": "shop", "selector": "pool=x"}, "team"),
		"namespace_tolerations": {"namespace": "shop", "default": []any{toleration("team", "a")}},
	} {
		t.Run(typeName, func(t *testing.T) {
			t.Parallel()
			bubble(t, moment{api: fakeapi.New()}, func(t *testing.T, api *fakeapi.Server) {
				threeOfEach(api)
				time.Sleep(calm)
				tf, i := through(api.Client()), &acctest.Instance{Type: "kubetaint_" + typeName}
				mustApply(t, tf, i, config)
				before := clusterIn(t, i.Private)
				i.Private = nil
				if d := tf.Walk(t).Refresh(i); d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if got := clusterIn(t, i.Private); got != before || got == "" {
					t.Errorf("the private state has the cluster %q, and had %q", got, before)
				}
			})
		})
	}
}

// clusterIn returns the cluster that a private state was written for.
func clusterIn(t *testing.T, private []byte) string {
	t.Helper()
	var values map[string][]byte
	var own struct{ Cluster string }
	if err := json.Unmarshal(private, &values); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(values["ownership"], &own); err != nil {
		t.Fatal(err)
	}
	return own.Cluster
}
