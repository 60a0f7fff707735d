// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
)

func TestDrainNodes_limitsCountWhatPreemptionEvictsElsewhere(t *testing.T) {
	t.Parallel()
	acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
		name, tf := acctest.Name(t, "node"), &acctest.Terraform{Provider: c.Provider(t)}
		c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": name}})
		pods := c.Preempting(t, name, name)
		config := map[string]any{"node_name": name, "evictions": map[string]any{"protected_namespaces": []string{pods.Other}}}
		walk := tf.Walk(t)
		walk.Between = pods.Calm
		acctest.WantAll(t, walk.Invoke("kubetaint_drain_nodes", config).Errors(), "protected_namespaces", "1 pod of protected namespaces would be evicted", "Nothing has been written")
		if c.Get(t, name).Spec.Unschedulable {
			t.Fatal("the node is cordoned")
		}
		pods.Exceeded(t, func(evictions map[string]any) string {
			config["evictions"] = evictions
			return tf.Invoke(t, "kubetaint_drain_nodes", config).Errors()
		})
	})
}
