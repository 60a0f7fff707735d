// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package drainnodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlCordon has the facts in k8s.io/kubectl v0.37.2 about a node that is not there (TestCordon in
// pkg/cmd/drain/drain_test.go), and about a cordon that has no client (TestRunCordonOrUncordon in
// pkg/drain/default_test.go), which here is an action without a connection: both are an error, and no node is written.
func TestUpstream_kubectlCordon(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		node string
		// unconnected is set where the address of the cluster is not known.
		unconnected, refused, unwritten bool
	}{
		"the node":                   {node: "node"},
		"a node that is not there":   {node: "bar", refused: true, unwritten: true},
		"no connection to a cluster": {node: "node", unconnected: true, refused: true, unwritten: true},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				c.Node(t, acctest.Node{Name: "node"})
				tf := &acctest.Terraform{Provider: c.Provider(t)}
				if tt.unconnected {
					tf.Provider = acctest.With(tf.Provider, map[string]any{"host": acctest.Unknown})
				}
				if d := tf.Invoke(t, "kubetaint_drain_nodes", map[string]any{"node_name": tt.node}); (d.Errors() != "") != tt.refused {
					t.Errorf("refused is %t: %s", !tt.refused, d.Errors())
				}
				if n := c.Get(t, "node"); n.Spec.Unschedulable == tt.unwritten {
					t.Errorf("it takes no more pods: %t", n.Spec.Unschedulable)
				}
			})
		})
	}
}
