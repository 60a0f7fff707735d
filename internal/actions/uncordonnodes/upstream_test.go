// Copyright The kubetaint Authors
// SPDX-License-Identifier: MPL-2.0

package uncordonnodes_test

import (
	"testing"

	"github.com/kubetaint/terraform-provider-kubetaint/internal/acctest"
	"github.com/kubetaint/terraform-provider-kubetaint/internal/test/upstream"
)

// TestUpstream_kubectlUncordon has the facts of TestCordon in k8s.io/kubectl v0.37.2 pkg/cmd/drain/drain_test.go and
// of TestUpdateIfRequired in pkg/drain/cordon_test.go about uncordons: which nodes are written, and that a node that
// is not there is an error.
func TestUpstream_kubectlUncordon(t *testing.T) {
	t.Parallel()
	rows := upstream.Cases(t)
	for name, tt := range map[string]struct {
		cordoned []string
		config   map[string]any
		refused  bool
		// written are the nodes that are.
		written []string
	}{
		"a cordoned node takes pods again":       {cordoned: []string{"node"}, config: map[string]any{"node_name": "node"}, written: []string{"node"}},
		"a node that takes pods is not written":  {config: map[string]any{"node_name": "node"}},
		"a node that is not there":               {config: map[string]any{"node_name": "bar"}, refused: true},
		"several cordoned nodes take pods again": {cordoned: []string{"node", "node1", "node2"}, config: map[string]any{"node_selector": "pool=x"}, written: []string{"node", "node1", "node2"}},
	} {
		rows.Run(t, name, func(t *testing.T) {
			t.Parallel()
			acctest.OnFake(t, func(t *testing.T, c *acctest.Cluster) {
				for _, name := range []string{"node", "node1", "node2"} {
					c.Node(t, acctest.Node{Name: name, Labels: map[string]string{"pool": "x"}})
				}
				for _, name := range tt.cordoned {
					cordon(t, c, name)
				}
				log, provider := c.Audit(t)
				d := (&acctest.Terraform{Provider: provider}).Invoke(t, "kubetaint_uncordon_nodes", tt.config)
				if (d.Errors() != "") != tt.refused {
					t.Errorf("refused is %t: %s", !tt.refused, d.Errors())
				}
				wantWritten(t, log, tt.written...)
				for _, name := range []string{"node", "node1", "node2"} {
					if c.Get(t, name).Spec.Unschedulable {
						t.Errorf("node %s takes no pods", name)
					}
				}
			})
		})
	}
}
