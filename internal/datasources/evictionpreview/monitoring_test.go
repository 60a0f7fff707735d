// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package evictionpreview_test

import (
	"strings"
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/messages"
)

// TestEvictionPreview_tolerationsOfMonitoringCountForItsPods has tolerations added to the ConfigMap of
// OpenShift's monitoring: they count for the pods of each component, and components without pods are no mistake.
func TestEvictionPreview_tolerationsOfMonitoringCountForItsPods(t *testing.T) {
	t.Parallel()
	messages.Expect(t, "No pod is owned by")
	for name, want := range map[string]int64{"cluster-monitoring-config": 1, "misspelled": 4} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFakeWithControllers(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "infra"})
				namespace := c.MonitoringNamespace(t)
				c.StatefulSet(t, namespace, "prometheus-k8s", 2, nil)
				c.Deployment(t, namespace, "prometheus-operator", 1, nil)
				c.Deployment(t, namespace, "other", 1, nil)
				tf := &acctest.Terraform{Provider: c.Provider(t)}
				preview, d := tf.Data(t, "kubetaint_eviction_preview", map[string]any{
					"node_name": "infra", "taints": acctest.Objects(t, "dedicated=gpu:NoExecute"),
					"added_tolerations": []any{map[string]any{"kind": "ConfigMap", "namespace": namespace, "name": name, "tolerations": []any{map[string]any{"key": "dedicated", "operator": "Exists"}}}},
				})
				if d.Errors() != "" {
					t.Fatal(d.Errors())
				}
				if got := preview["summary"].(map[string]any)["evicted_now"]; got != want {
					t.Errorf("%v pods are evicted, want %d", got, want)
				}
				if warned := strings.Contains(d.Warnings(), "No pod is owned by ConfigMap openshift-monitoring/misspelled"); warned != (name == "misspelled") || !warned && strings.Contains(d.Warnings(), "No pod belongs") {
					t.Errorf("the warnings are %q", d.Warnings())
				}
			})
		})
	}
}
